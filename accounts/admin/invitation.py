"""The admin pages for invitations: invite, send again, copy the link, withdraw."""

from typing import Any, ClassVar

from django.contrib import admin, messages
from django.db.models import OuterRef, QuerySet, Subquery
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern
from django.utils import timezone
from unfold.decorators import display
from unfold.widgets import UnfoldAdminEmailInputWidget

from accounts.admin.membership import StandingForm, in_words
from accounts.admin.scope import AccountRows, with_row
from accounts.models import Account, Invitation, Mail, Membership
from accounts.notifications import MAILS_PER_HOUR, room
from accounts.services.invitation import invite, invite_again
from config.admin.dates import at
from config.admin.page import row_routes
from config.admin.post_only import post_only

FULL = f"An account can send at most {MAILS_PER_HOUR} emails an hour. Try again later."
SENT = at("updated_at", "last sent")
STATES = {
    Mail.State.PENDING: "being sent",
    Mail.State.RETRYING: "being sent",
    Mail.State.SENT: "sent",
    Mail.State.FAILED: "not sent",
}


class InvitationForm(StandingForm):
    """The form for an invitation: the account, and the person's email address and role."""

    class Meta:
        model = Invitation
        fields = ("account", "email", "role", "permissions")
        widgets = {"email": UnfoldAdminEmailInputWidget}
        help_texts: ClassVar[dict[str, str]] = {
            "role": "A SUPER_ADMIN manages the account and may use all of its chatbots. A MEMBER "
            "may use the chatbots that they are added to on the chatbots' pages."
        }

    def clean(self) -> dict[str, Any] | None:
        """Reject people who are already members or already invited, and more emails than allowed.

        If two requests race, the unique constraint rejects one of them.
        """
        given = super().clean()
        email, account = (
            self.cleaned_data.get("email", "").lower(),
            self.cleaned_data.get("account"),
        )
        if not (email and account):
            return given
        members = Membership.objects.filter(account=account, user__email__lower=email)
        if email == account.owner.email.lower() or members.exists():
            self.add_error("email", "this person is already a member")
        elif Invitation.objects.filter(account=account, email__iexact=email).exists():
            self.add_error(
                "email", "this person is already invited: you can send the invitation again"
            )
        elif room(account) < 1:
            self.add_error(None, FULL)
        return given


@admin.register(Invitation)
class InvitationAdmin(AccountRows):
    """The invitations that have not been accepted. They are sent again or withdrawn, not edited."""

    form = InvitationForm
    list_display = ("email", "account", "role", "state", SENT, at("expires_at", "valid until"))
    list_select_related = ("account",)
    search_fields = ("email__istartswith",)
    search_help_text = "the beginning of an email address"
    fields = ("account", "email", "role", "permissions")
    readonly_fields = ("granted", "state", SENT, at("expires_at", "valid until"))
    change_form_outer_before_template = "admin/accounts/invitation_buttons.html"
    empty_text = "There are no open invitations. Accepted invitations become members."

    def get_queryset(self, request: HttpRequest) -> "QuerySet[Any]":
        """Annotate each invitation with the state of its last email."""
        last = Mail.objects.filter(invitation=OuterRef("pk")).order_by("-created_at", "-id")
        rows: QuerySet[Any] = super().get_queryset(request)
        with_state: QuerySet[Any] = rows.annotate(mail_state=Subquery(last.values("state")[:1]))
        return with_state

    def get_fields(self, request: HttpRequest, obj: Invitation | None = None) -> Any:
        """Show the state of an invitation that has been sent."""
        return (*self.fields[:-1], *self.readonly_fields) if obj else self.fields

    def get_readonly_fields(self, request: HttpRequest, obj: Invitation | None = None) -> Any:
        """Show the state only of an invitation that has been sent."""
        return self.readonly_fields if obj else ()

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """Choose the account that the URL names, or the person's only account."""
        given: dict[str, Any] = super().get_changeform_initial_data(request)
        accounts = self.admin_site.get_model_admin(Account).get_queryset(request)[:2]
        return given if given or len(accounts) != 1 else {"account": accounts[0].pk}

    @admin.display(description="permissions")
    def granted(self, invitation: Invitation) -> str:
        """Show the permissions in words."""
        return ", ".join(map(in_words, invitation.permissions)) or "none"

    @display(
        description="state",
        label={"sent": "success", "being sent": "info", "expired": "warning", "not sent": "danger"},
    )
    def state(self, invitation: Any) -> str:
        """Show whether the email was sent and the link still works, as a colored label."""
        if invitation.expires_at <= timezone.now():
            return "expired"
        return STATES.get(invitation.mail_state, "sent")  # old emails are deleted

    def save_model(self, request: HttpRequest, obj: Invitation, form: Any, change: bool) -> None:
        """Store the invitation, along with the email that delivers it."""
        invite(obj)

    def response_add(
        self, request: HttpRequest, obj: Invitation, post_url_continue: str | None = None
    ) -> HttpResponse:
        """Say to whom the invitation was sent, and lead to its page or to another invitation."""
        messages.success(request, f"The invitation was sent to {obj.email}.")
        more = "_addanother" in request.POST
        return HttpResponseRedirect(self.url_of("add") if more else self.url_of("change", obj))

    def get_urls(self) -> list[URLPattern]:
        """Add the routes for the buttons on an invitation's page."""
        buttons = row_routes(
            self, resend=post_only(self.resend_view), withdraw=post_only(self.withdraw_view)
        )
        return [*buttons, *super().get_urls()]

    @with_row("add")
    def resend_view(self, request: HttpRequest, invitation: Invitation) -> HttpResponse:
        """Send the email again. Its link, and all earlier ones, then work for seven more days."""
        if room(invitation.account) < 1:
            messages.error(request, FULL)
        elif invite_again(invitation):
            self.log_change(request, invitation, "Sent again.")
            messages.success(request, f"The invitation was sent to {invitation.email} again.")
        return HttpResponseRedirect(self.url_of("change", invitation))

    @with_row("add")
    def withdraw_view(self, request: HttpRequest, invitation: Invitation) -> HttpResponse:
        """Delete the invitation, so that its links no longer work."""
        self.log_deletions(request, [invitation])
        invitation.delete()
        messages.success(request, f"The invitation to {invitation.email} was withdrawn.")
        return HttpResponseRedirect(self.url_of("changelist"))

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """Show a link that the manager can pass on, unless the invitation has expired."""
        row = self.get_object(request, object_id)
        valid = row is not None and row.expires_at > timezone.now()
        link = {"link": row.link(row.copied)} if row is not None and valid else {}
        answer: HttpResponse = super().change_view(
            request, object_id, form_url, {**(extra_context or {}), **link}
        )
        return answer

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Allow managers to invite people, and to send or withdraw invitations."""
        return bool(super().has_add_permission(request))

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Forbid changes: the email already states the role. Withdraw the invitation instead."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Forbid Django's deletion: the button "Withdraw" takes its place."""
        return False
