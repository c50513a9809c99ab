"""The admin's forms that check a password, with rate limits against password guessing."""

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

FAILURES: Rate = (5, 900)  # failures and seconds, per person and address
FAILURES_OF_ADDRESS: Rate = (50, 900)  # per address, because every failure costs a password hash
MOST_WAITING = 8  # concurrent password checks in a process, which hashes two at a time

waiting = threading.BoundedSemaphore(MOST_WAITING)


class SignInForm(AuthenticationForm):  # type: ignore[misc]  # unfold has no types
    """Refuses further attempts after too many failures, even with the right password."""

    def clean(self) -> dict[str, Any]:
        """Check the password, unless failed or concurrent sign-ins have reached a limit.

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
        """Return the key under which failures are counted: the user's id, or else the typed email.

        The database may find the same user by several spellings of an email address. All spellings
        must share one count.
        """
        name = str(self.cleaned_data.get("username", "")).strip()
        found = User.objects.find(name)
        return str(found.pk) if found else name.lower()


class PasswordForm(AdminOwnPasswordChangeForm):  # type: ignore[misc]  # unfold has no types
    """Changes a person's own password. Limits failed attempts to enter the old one."""

    def clean_old_password(self) -> str:
        """Check the old password, unless failures or concurrent checks have reached a limit.

        Failures are counted per person, across all addresses: only someone who is signed in as this
        person can use up the limit. Raises ValidationError.
        """
        with counting_failures(("password-change", str(self.user.pk), FAILURES)):
            return str(super().clean_old_password())


@contextmanager
def counting_failures(*counts: tuple[str, str, Rate]) -> Iterator[None]:
    """Count a password check that raises ValidationError as a failure.

    Each count has its own limit. Raises ValidationError without a check if a limit is reached.
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
                # Raised after the outer block. An exception inside it would undo the counts.
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
