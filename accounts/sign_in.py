"""Signing in to the admin: a password cannot be guessed by trying."""

from math import ceil
from typing import Any

from django.core.exceptions import ValidationError
from unfold.forms import AuthenticationForm

from config.api import limits
from config.api.errors import TooManyRequests
from config.environment import Rate
from config.middleware import counted_as

FAILURES: Rate = (5, 900)  # of one name from one address


class SignInForm(AuthenticationForm):  # type: ignore[misc]  # unfold gives no types
    """Refuses more tries, a right password among them, once too many have failed."""

    def clean(self) -> dict[str, Any]:
        """Sign in. Raises ValidationError."""
        name = str(self.cleaned_data.get("username", "")).strip().lower()
        address = counted_as(self.request.META.get("REMOTE_ADDR", ""))
        failure = None
        try:
            with limits.taken("sign-in", f"{name} {address}", FAILURES) as give_back:
                try:
                    super().clean()
                    give_back()
                except ValidationError as error:  # it counts
                    failure = error
        except TooManyRequests as refusal:
            minutes = ceil(refusal.retry_after / 60)
            raise ValidationError(
                f"Too many attempts have failed. Try again in {minutes} min.", code="too_many"
            ) from None
        if failure:
            raise failure
        return dict(self.cleaned_data)
