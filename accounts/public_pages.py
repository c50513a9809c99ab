"""Pages that need no sign-in: accept an invitation, and set a new password by email.

A secret token in a URL is exchanged for an entry in the session by a redirect, so that pages have
no token in their address, and browsers cannot send one in a Referer header.
"""

from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib import admin, messages
from django.contrib.auth import login, views
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse_lazy
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache

from accounts.models import Invitation, User
from accounts.services.invitation import accept, join
from accounts.services.user import confirm_email
from accounts.sign_in import ForgotForm, InvitedSignInForm, JoinForm, NewPasswordForm
from config.page_limits import limited
from config.runtime.context import current

RATE = (60, 60)  # 60 calls in 60 seconds per address to the pages that links lead to


def held(invitation_id: UUID) -> str:
    """Return the session's key for an opened invitation. Its value: was it the emailed link?"""
    return f"invitation {invitation_id.hex}"


def show(request: HttpRequest, status: int = 200, **context: Any) -> HttpResponse:
    """Render the page of an invitation."""
    shown = {**admin.site.each_context(request), "title": "Invitation", **context}
    return TemplateResponse(request, "accounts/invitation.html", shown, status=status)


@limited("invitation", lambda: RATE)
@never_cache
def invitation_link(request: HttpRequest) -> HttpResponse:
    """Note in the session that a person has an invitation's link, and lead to its page."""
    found = Invitation.find(request.GET.get("token", ""))
    if found is None:
        return show(request, 404)
    invitation, mailed = found
    key = held(invitation.pk)
    request.session[key] = mailed or request.session.get(key, False)
    return redirect("invitation_page", invitation.pk)


@limited("invitation", lambda: RATE)
@never_cache
def invitation_page(request: HttpRequest, invitation_id: UUID) -> HttpResponse:
    """Show an invitation that the session has opened. On POST, accept it and sign the person in.

    A person without a user chooses a name and a password. A person who has one signs in, unless
    they already are, and never sets a password here.
    """
    key = held(invitation_id)
    rows = Invitation.objects.valid().select_related("account").filter(pk=invitation_id)
    invitation = rows.first() if key in request.session else None
    if invitation is None:
        return show(request, 404)
    user = User.objects.find(invitation.email)
    form: Any = None
    if user is None:
        new = User(email=invitation.email)
        form = JoinForm(new, request.POST if request.method == "POST" else None)
    elif request.user != user:
        form = InvitedSignInForm(request, invitation.email)
    refused = bool(user and not user.is_active)
    unconfirmed = bool(user and not user.email_confirmed)
    if request.method == "POST" and not unconfirmed and (form is None or form.is_valid()):
        confirmed = bool(request.session[key])
        if entered := enter(request, invitation, user, form, confirmed=confirmed):
            return entered
        if not rows.exists():
            return show(request, 404)
        refused = True
    return show(
        request,
        409 if refused and request.method == "POST" else 200,
        invitation=invitation,
        known=user,
        form=form,
        refused=refused,
        unconfirmed=unconfirmed,
    )


def enter(
    request: HttpRequest, invitation: Invitation, user: User | None, form: Any, *, confirmed: bool
) -> HttpResponse | None:
    """Accept an invitation, and lead to the inbox in a session. Returns None if it is refused."""
    account, known = invitation.account, user is not None
    user = user or form.save()
    current.set(current.get()._replace(person=user.pk, via="admin"))  # for the audit trail
    accepted = accept(invitation, user) if known else join(invitation, user, confirmed=confirmed)
    if not accepted:
        return None
    if request.user != user:
        login(request, user)
    messages.success(request, f"You are now a member of {account}.")
    return HttpResponseRedirect(settings.ADMIN_START)


class EmailedPasswordForm(NewPasswordForm):
    """Sets a password with the link from an email, which also confirms the email address."""

    def save(self, commit: bool = True) -> User:
        """Store the password."""
        user: User = super().save(commit=False)
        confirm_email(user)
        return user


class PublicPage:
    """Adds what the theme's layout needs to a page of Django's."""

    request: HttpRequest

    def get_context_data(self, **context: Any) -> dict[str, Any]:
        """Return the site's title, styles and scripts along with the page's own values."""
        own: dict[str, Any] = super().get_context_data(**context)  # type: ignore[misc]  # a mixin
        return {**admin.site.each_context(self.request), **own}


class ForgotView(PublicPage, views.PasswordResetView):
    """Asks for the email address of a person who has forgotten the password."""

    form_class = ForgotForm
    template_name = "accounts/forgot.html"
    title = "Forgot password?"
    success_url = reverse_lazy("password_reset_done")

    def get_form_kwargs(self) -> dict[str, Any]:
        """Give the form the request, whose address it counts."""
        return {**super().get_form_kwargs(), "request": self.request}


class ForgotDoneView(PublicPage, views.PasswordResetDoneView):
    """Says the same whether the address is known or not."""

    template_name = "accounts/forgot.html"
    title = "Check your inbox"


@method_decorator(limited("invitation", lambda: RATE), name="dispatch")
class NewPasswordView(PublicPage, views.PasswordResetConfirmView):
    """Sets a new password. The emailed link works once, and only for PASSWORD_RESET_TIMEOUT."""

    form_class = EmailedPasswordForm
    template_name = "accounts/new_password.html"
    title = "Set a new password"
    success_url = reverse_lazy("password_reset_complete")


class NewPasswordDoneView(PublicPage, views.PasswordResetCompleteView):
    """Leads to the sign-in page."""

    template_name = "accounts/new_password.html"
    title = "Your password has been set"
