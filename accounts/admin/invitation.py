"""Invitations: a manager invites an e-mail address, and its owner accepts on a public page."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.views.decorators.cache import never_cache
from unfold.admin import TabularInline
from unfold.widgets import UnfoldAdminEmailInputWidget

from accounts.admin.membership import StandingForm
from accounts.models import Invitation, Membership
from accounts.notifications import MAILS_PER_HOUR, room
from accounts.services.account import accept, invite


class InvitationForm(StandingForm):
    """An e-mail address, and the role and permissions of its owner in the account."""

    class Meta:
        model = Invitation
        fields = ("email", "role", "permissions")
        widgets = {"email": UnfoldAdminEmailInputWidget}

    def clean(self) -> dict[str, Any] | None:
        """Refuse members and people already invited; the constraint decides in a race."""
        given = super().clean()
        email, account = self.cleaned_data.get("email", "").lower(), self.instance.account
        members = Membership.objects.filter(account=account, user__email__lower=email)
        if email == account.owner.email.lower() or members.exists():
            self.add_error("email", "this person is already a member")
        if Invitation.objects.filter(account=account, email__iexact=email).exists():
            self.add_error("email", "this person is already invited")
        if room(account) <= 0:
            self.add_error(None, f"an account sends at most {MAILS_PER_HOUR} mails an hour")
        return given

    def save(self, commit: bool = True) -> Invitation:
        """Store the invitation and its mail."""
        invitation: Invitation = self.instance
        invite(invitation)
        return invitation


class InvitationInline(TabularInline):
    """The invitations that have not been accepted yet."""

    model = Invitation
    form = InvitationForm
    fields = ("email", "role", "permissions", "expires")
    readonly_fields = ("expires",)
    extra = 0
    tab = True

    @admin.display(description="valid until")
    def expires(self, invitation: Invitation) -> str:
        """Show when the link stops working."""
        return f"{invitation.expires_at:%Y-%m-%d %H:%M} UTC"

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Show invitations to people who may add members."""
        return bool(request.user.has_perm("accounts.add_membership"))

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Forbid changes: the mail has been written. Withdraw the invitation and send another."""
        return False

    has_add_permission = has_delete_permission = has_view_permission


@never_cache
def invitation(request: HttpRequest) -> HttpResponse:
    """Show the invitation, and accept it on POST. The token in the mail's link is the proof."""
    found = Invitation.find(request.GET.get("token", ""))
    accepted = bool(found and request.method == "POST" and accept(found))
    return TemplateResponse(
        request,
        "accounts/invitation.html",
        {
            **admin.site.each_context(request),
            "title": "Invitation",
            "invitation": found,
            "accepted": accepted,
        },
        status=200 if found else 404,
    )
