"""The admin's sign-in form, with rate limits against password guessing."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from math import ceil
from typing import Any

from django.core.exceptions import ValidationError
from unfold.forms import AuthenticationForm

from accounts.models import User
from config.api import limits
from config.api.errors import TooManyRequests
from config.environment import Rate
from config.middleware import counted_as

FAILURES: Rate = (5, 900)  # failures and seconds, per person and address
FAILURES_OF_ADDRESS: Rate = (50, 900)  # per address, because every failure costs a password hash
MOST_WAITING = 8  # concurrent sign-ins in a process, which hashes two passwords at a time

waiting = threading.BoundedSemaphore(MOST_WAITING)


class SignInForm(AuthenticationForm):  # type: ignore[misc]  # unfold has no types
    """Refuses further attempts after too many failures, even with the right password."""

    def clean(self) -> dict[str, Any]:
        """Check the password, unless failed or concurrent sign-ins have reached a limit.

        Raises ValidationError.
        """
        address = counted_as(self.request.META.get("REMOTE_ADDR", ""))
        failure = None
        try:
            with (
                limits.taken("sign-in-address", address, FAILURES_OF_ADDRESS) as of_address,
                limits.taken("sign-in", f"{self.subject()} {address}", FAILURES) as of_person,
                waiting_place(),
            ):
                try:
                    super().clean()
                    of_address()
                    of_person()
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
        return dict(self.cleaned_data)

    def subject(self) -> str:
        """Return the key under which failures are counted: the user's id, or else the typed email.

        The database may find the same user by several spellings of an email address. All spellings
        must share one count.
        """
        name = str(self.cleaned_data.get("username", "")).strip()
        found = User.objects.find(name)
        return str(found.pk) if found else name.lower()


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
