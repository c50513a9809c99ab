"""Forms that check, reset or choose passwords, with rate limits to prevent password guessing."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import ceil
from typing import Any, ClassVar

from django import forms
from django.contrib.auth.forms import PasswordResetForm, SetPasswordForm
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from unfold.forms import AdminOwnPasswordChangeForm, AuthenticationForm
from unfold.widgets import (
    UnfoldAdminEmailInputWidget,
    UnfoldAdminPasswordWidget,
    UnfoldAdminTextInputWidget,
)

from accounts import notifications
from accounts.models import User
from config import page_limits
from config.api.errors import TooManyRequests
from config.database.lengths import SHORT
from config.environment import Rate
from config.page_limits import PageLimit

FAILURES: Rate = (5, 900)  # 5 failures in 900 seconds, per person and IP address
FAILURES_OF_ADDRESS: Rate = (50, 900)  # per IP address, because each attempt hashes a password
MOST_WAITING = 8  # maximum number of password checks that wait or run at once in a process

waiting = threading.BoundedSemaphore(MOST_WAITING)


class SignInForm(AuthenticationForm):  # type: ignore[misc]  # unfold has no types
    """After too many failed attempts, refuses to sign a person in, even with the right password."""

    error_messages: ClassVar[dict[str, Any]] = {
        **AuthenticationForm.error_messages,
        "invalid_login": "Wrong email or password.",
    }

    def clean(self) -> dict[str, Any]:
        """Check the password, unless a limit on failed or concurrent sign-ins has been reached.

        Raises ValidationError.
        """
        address = page_limits.address_of(self.request)
        subject = subject_of(str(self.cleaned_data.get("username", "")))
        with counting_failures(
            PageLimit("sign-in-address", address, FAILURES_OF_ADDRESS),
            PageLimit("sign-in", f"{subject} {address}", FAILURES),
        ):
            super().clean()
        return dict(self.cleaned_data)


class InvitedSignInForm(SignInForm):
    """Signs in a person who may not belong to an account yet, because they are about to join it."""

    def __init__(self, request: HttpRequest, email: str) -> None:
        given = {"username": email, "password": request.POST.get("password", "")}
        super().__init__(request, given if request.method == "POST" else None)
        self.fields["username"].widget = forms.HiddenInput()

    def confirm_login_allowed(self, user: Any) -> None:
        """Allow everyone whose password is right. Django has already refused inactive people."""


class NewPasswordForm(SetPasswordForm):  # type: ignore[type-arg]  # generic only in stubs
    """Asks twice for a new password."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        for name in ("new_password1", "new_password2"):
            widget = UnfoldAdminPasswordWidget(attrs={"autocomplete": "new-password"})
            self.fields[name].widget = widget


class JoinForm(NewPasswordForm):
    """Asks an invited person for a name and a password."""

    name = forms.CharField(max_length=SHORT, widget=UnfoldAdminTextInputWidget)
    field_order = ("name", "new_password1", "new_password2")

    def save(self, commit: bool = True) -> User:
        """Return the user with their name and password, without storing them."""
        self.user.name = self.cleaned_data["name"]
        user: User = self.set_password_and_save(self.user, "new_password1", commit=False)
        return user


class ForgotForm(PasswordResetForm):
    """Emails a link that sets a new password. Nobody learns whether the address is known.

    The limits count requests for a person, or for an unknown address, and for an IP address.
    """

    email = forms.EmailField(
        max_length=SHORT,
        widget=UnfoldAdminEmailInputWidget(attrs={"autocomplete": "email", "autofocus": True}),
    )

    def __init__(self, request: HttpRequest, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.request = request

    def clean(self) -> dict[str, Any]:
        """Count the request. Raises ValidationError if a limit has been reached."""
        if email := self.cleaned_data.get("email"):
            take(
                PageLimit(
                    "password-reset-address",
                    page_limits.address_of(self.request),
                    FAILURES_OF_ADDRESS,
                ),
                PageLimit("password-reset", subject_of(email), FAILURES),
            )
        return self.cleaned_data

    def save(self, *_: Any, **__: Any) -> None:
        """Store the email, if a person has this address."""
        user = User.objects.find(self.cleaned_data["email"])
        if user and user.is_active and (user.has_usable_password() or not user.is_superuser):
            notifications.password_reset(user)


def subject_of(email: str) -> str:
    """Return the key for counting calls: the user's id, or the email if there is no user.

    Several spellings of an email address may lead to the same user, and all of them must share one
    count.
    """
    name = email.strip()
    found = User.objects.find(name)
    return str(found.pk) if found else name.lower()


def take(*limits: PageLimit) -> Callable[[], None]:
    """Count a call as `page_limits.take` does. Raises ValidationError if a limit is exceeded."""
    try:
        return page_limits.take(*limits)
    except TooManyRequests as refusal:
        minutes = ceil(refusal.retry_after / 60)
        raise ValidationError(
            f"Too many attempts. Try again in {minutes} min.", code="too_many"
        ) from None


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
    give_back = take(*limits)
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
