"""Memberships: the people of an account besides its owner."""

from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest
from unfold.admin import TabularInline
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget

from accounts.models import Membership
from accounts.permissions import PERMISSIONS
from config.admin.conflict import SEEN, ConflictForm


class StandingForm(ConflictForm):
    """A role, and permissions as checkboxes."""

    permissions = forms.MultipleChoiceField(
        choices=[(name, name) for name in PERMISSIONS],
        required=False,
        widget=UnfoldAdminCheckboxSelectMultipleWidget,
    )


class MembershipInline(TabularInline):
    """The members of an account. New members are invited."""

    model = Membership
    form = StandingForm
    fields = ("email", "role", "permissions", SEEN)
    readonly_fields = ("email",)
    verbose_name_plural = "members"
    extra = 0
    tab = True

    @admin.display(description="e-mail")
    def email(self, membership: Membership) -> str:
        """Show the member's e-mail."""
        return membership.user.email

    def get_queryset(self, request: HttpRequest) -> Any:
        """Fetch the people along with their memberships."""
        return super().get_queryset(request).select_related("user", "account")

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Forbid adding: a person becomes a member by accepting an invitation."""
        return False
