"""Admin forms that check passwords, with rate limits to prevent password guessing."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from math import ceil
from typing import Any

from django.core.exceptions import ValidationError
from unfold.forms import AdminOwnPasswordChangeForm, AuthenticationForm

from accounts.models import User
from config import page_limits
from config.api.errors import TooManyRequests
from config.environment import Rate
from config.page_limits import PageLimit

FAILURES: Rate = (5, 900)  # 5 failures in 900 seconds, per person and IP address
FAILURES_OF_ADDRESS: Rate = (50, 900)  # per IP address, because each attempt hashes a password
MOST_WAITING = 8  # maximum number of password checks that wait or run at once in a process

waiting = threading.BoundedSemaphore(MOST_WAITING)


class SignInForm(AuthenticationForm):  # type: ignore[misc]  # unfold has no types
    """After too many failed attempts, refuses to sign a person in, even with the right password."""

    def clean(self) -> dict[str, Any]:
        """Check the password, unless a limit on failed or concurrent sign-ins has been reached.

        Raises ValidationError.
        """
        address = page_limits.address_of(self.request)
        with counting_failures(
            PageLimit("sign-in-address", address, FAILURES_OF_ADDRESS),
            PageLimit("sign-in", f"{self.subject()} {address}", FAILURES),
        ):
            super().clean()
        return dict(self.cleaned_data)

    def subject(self) -> str:
        """Return the key for counting failures: the user's id, or the email if there is no user.

        Several spellings of an email address may lead to the same user, and all of them must share
        one count.
        """
        name = str(self.cleaned_data.get("username", "")).strip()
        found = User.objects.find(name)
        return str(found.pk) if found else name.lower()


class PasswordForm(AdminOwnPasswordChangeForm):  # type: ignore[misc]  # unfold has no types
    """Changes a person's own password. Limits how often a wrong old password may be entered."""

    def clean_old_password(self) -> str:
        """Check the old password, unless a limit on failed or concurrent checks has been reached.

        Failures are counted per person, across all addresses, because only someone who is signed in
        as this person can use up the limit. Raises ValidationError.
        """
        limit = PageLimit("password-change", str(self.user.pk), FAILURES)
        with counting_failures(limit):
            return str(super().clean_old_password())


@contextmanager
def counting_failures(*limits: PageLimit) -> Iterator[None]:
    """Count a failure if the password check in the `with` block raises ValidationError.

    The failure counts against each limit. If any limit has been reached, raises ValidationError
    without checking the password.
    """
    try:
        give_back = page_limits.take(*limits)
    except TooManyRequests as refusal:
        minutes = ceil(refusal.retry_after / 60)
        raise ValidationError(
            f"Too many failed attempts. Try again in {minutes} min.", code="too_many"
        ) from None
    failed = False
    try:
        with waiting_place():
            try:
                yield
            except ValidationError:
                failed = True
                raise
    finally:
        if not failed:
            give_back()


@contextmanager
def waiting_place() -> Iterator[None]:
    """Hold one of the MOST_WAITING slots. Raises ValidationError immediately if none is free."""
    if not waiting.acquire(blocking=False):
        raise ValidationError(
            "Too many people are signing in right now. Try again in a few seconds.",
            code="busy",
        )
    try:
        yield
    finally:
        waiting.release()
