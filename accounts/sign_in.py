"""Admin forms that check passwords, with rate limits to prevent password guessing."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from math import ceil
from typing import Any

from django.core.exceptions import ValidationError
from unfold.forms import AdminOwnPasswordChangeForm, AuthenticationForm

from accounts.models import User
from config.api import limits
from config.api.errors import TooManyRequests
from config.environment import Rate
from config.middleware import counted_as

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
        address = counted_as(self.request.META.get("REMOTE_ADDR", ""))
        with counting_failures(
            ("sign-in-address", address, FAILURES_OF_ADDRESS),
            ("sign-in", f"{self.subject()} {address}", FAILURES),
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
        with counting_failures(("password-change", str(self.user.pk), FAILURES)):
            return str(super().clean_old_password())


@contextmanager
def counting_failures(*counts: tuple[str, str, Rate]) -> Iterator[None]:
    """Count a failure if the password check in the `with` block raises ValidationError.

    The failure is added to each of `counts`, which have separate limits. If any limit has been
    reached, raises ValidationError without checking the password.
    """
    failure = None
    try:
        with ExitStack() as held:
            forget = [held.enter_context(limits.taken(*count)) for count in counts]
            held.enter_context(waiting_place())
            try:
                yield
                for undo in forget:
                    undo()
            except ValidationError as error:
                # Raise this after the outer block, because raising it here would undo the counts.
                failure = error
    except TooManyRequests as refusal:
        minutes = ceil(refusal.retry_after / 60)
        raise ValidationError(
            f"Too many failed attempts. Try again in {minutes} min.", code="too_many"
        ) from None
    if failure:
        raise failure


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
