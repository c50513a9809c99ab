"""Invitations: a manager invites a person by email, and the person accepts on a public page."""

from typing import Any

from django.contrib import admin
from django.forms.formsets import DELETION_FIELD_NAME
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.views.decorators.cache import never_cache
from unfold.widgets import UnfoldAdminEmailInputWidget

from accounts.admin.membership import StandingForm
from accounts.models import Invitation, Membership
from accounts.notifications import MAILS_PER_HOUR, room
from accounts.services.invitation import accept, invite
from config.admin.inline_pages import PagedFormSet, PagedInline
from config.page_limits import limited

RATE = (30, 60)  # 30 calls in 60 seconds per address to the page that accepts invitations


class InvitationForm(StandingForm):
    """The form for an invitation: the person's email address, role and permissions."""

    class Meta:
        model = Invitation
        fields = ("email", "role", "permissions")
        widgets = {"email": UnfoldAdminEmailInputWidget}

    def clean(self) -> dict[str, Any] | None:
        """Reject people who are already members or already invited.

        If two requests race, the unique constraint rejects one of them.
        """
        given = super().clean()
        email, account = self.cleaned_data.get("email", "").lower(), self.instance.account
        members = Membership.objects.filter(account=account, user__email__lower=email)
        if email == account.owner.email.lower() or members.exists():
            self.add_error("email", "this person is already a member")
        if Invitation.objects.filter(account=account, email__iexact=email).exists():
            self.add_error("email", "this person is already invited")
        return given

    def save(self, commit: bool = True) -> Invitation:
        """Store the invitation, along with the email that delivers it."""
        invitation: Invitation = self.instance
        invite(invitation)
        return invitation


class InvitationForms(PagedFormSet):
    """Checks new invitations against each other and against the account's email limit."""

    def clean(self) -> None:
        """Reject repeated addresses, and invitations that exceed the hourly email limit."""
        super().clean()
        changed = (form for form in self.extra_forms if form.has_changed())
        kept = (form for form in changed if not form.cleaned_data.get(DELETION_FIELD_NAME))
        new = [form for form in kept if "email" in form.cleaned_data]  # invalid forms have errors
        left = room(self.instance) if new else 0
        emails: set[str] = set()
        for form in new:
            email = form.cleaned_data["email"].lower()
            if email in emails:
                form.add_error("email", "this address is entered twice")
            emails.add(email)
        if len(emails) > left:
            new[-1].add_error(None, f"an account can send at most {MAILS_PER_HOUR} emails an hour")


class InvitationInline(PagedInline):
    """The invitations that have not been accepted yet."""

    model = Invitation
    form = InvitationForm
    formset = InvitationForms
    fields = ("email", "role", "permissions", "expires")
    readonly_fields = ("expires",)
    ordering = ("pk",)

    @admin.display(description="valid until")
    def expires(self, invitation: Invitation) -> str:
        """Show when the link stops working."""
        return f"{invitation.expires_at:%Y-%m-%d %H:%M} UTC"

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Show invitations only to people who may add members."""
        return bool(request.user.has_perm("accounts.add_membership"))

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Forbid changes: the email already states the role. Withdraw the invitation instead."""
        return False

    has_add_permission = has_delete_permission = has_view_permission


@limited("invitation", lambda: RATE)
@never_cache
def invitation(request: HttpRequest) -> HttpResponse:
    """Show the invitation, and accept it on POST. The emailed token is the only credential."""
    token, posted = request.GET.get("token", ""), request.method == "POST"
    found = Invitation.find(token)
    accepted = bool(found and posted and accept(found))
    refused = posted and not accepted
    if refused:
        found = Invitation.find(token)  # may have been accepted or withdrawn in the meantime
    return TemplateResponse(
        request,
        "accounts/invitation.html",
        {
            **admin.site.each_context(request),
            "title": "Invitation",
            "invitation": found,
            "accepted": accepted,
            "refused": refused,
        },
        status=404 if not found else 409 if refused else 200,
    )
