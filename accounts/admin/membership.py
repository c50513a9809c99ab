"""The list of an account's members: everyone in it except the owner."""

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Count, Exists, F, OuterRef, Q
from django.http import HttpRequest
from django.utils.safestring import SafeString
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget

from accounts.admin.api_key import holders
from accounts.models import Membership
from accounts.permissions import CHATBOT_VIEW, MAY, PERMISSIONS, Action
from config.admin.conflict import SEEN, ConflictForm
from config.admin.dates import time_element
from config.admin.inline_pages import PagedInline

HIDDEN = "hidden"
WORDS = {CHATBOT_VIEW: "list all chatbots"}


def in_words(permission: str) -> str:
    """Describe a permission, with the name that the API uses."""
    return f"{WORDS[permission]} ({permission})"


class StandingForm(ConflictForm):
    """A form for a role and permissions. The permissions are checkboxes."""

    permissions = forms.MultipleChoiceField(
        choices=[(name, in_words(name)) for name in PERMISSIONS],
        required=False,
        widget=UnfoldAdminCheckboxSelectMultipleWidget,
    )


class MembershipInline(PagedInline):
    """The members of an account. New members join by invitation.

    A member may also belong to accounts that other people manage. The list therefore shows
    the name and the last sign-in only for members that `holders` returns.
    """

    model = Membership
    form = StandingForm
    readonly_fields = ("email", "name", "chatbots", "last_sign_in")
    fields = ("email", "name", "role", "permissions", "chatbots", "last_sign_in", SEEN)
    verbose_name_plural = "members"
    ordering = ("pk",)

    @admin.display(description="email")
    def email(self, membership: Membership) -> str:
        """Show the member's email."""
        return membership.user.email

    @admin.display(description="name")
    def name(self, membership: Any) -> str:
        """Show the member's name."""
        return membership.user.name if membership.known else HIDDEN

    @admin.display(description="chatbots")
    def chatbots(self, membership: Any) -> str:
        """Show how many chatbots the member can use, or "all" if the role covers every chatbot."""
        wide = membership.role in MAY[Action.USE_CHATBOT]
        return "all" if wide else str(membership.added_to)

    @admin.display(description="last sign-in")
    def last_sign_in(self, membership: Any) -> SafeString | str:
        """Show when the member last signed in to the admin."""
        if not membership.known:
            return HIDDEN
        return time_element(membership.user.last_login) if membership.user.last_login else "never"

    def get_queryset(self, request: HttpRequest) -> Any:
        """Fetch each member's user and account, and count the chatbots the member was added to."""
        bots = Q(user__chatbots__account=F("account"), user__chatbots__erased_at__isnull=True)
        rows = super().get_queryset(request).select_related("user", "account")
        return rows.annotate(
            known=Exists(holders(request).filter(pk=OuterRef("user"))),
            added_to=Count("user__chatbots", filter=bots),
        )

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Forbid adding: a person becomes a member by accepting an invitation."""
        return False
