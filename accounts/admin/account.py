"""The admin of accounts: plan, members, invitations and usage."""

from typing import Any

from django import forms
from django.contrib import admin
from django.forms import ModelForm
from django.http import HttpRequest
from unfold.contrib.filters.admin import RelatedDropdownFilter
from unfold.widgets import UnfoldAdminEmailInputWidget

from accounts.admin.invitation import InvitationInline
from accounts.admin.membership import MembershipInline
from accounts.admin.scope import AccountRows, person
from accounts.admin.usage import UsageInline
from accounts.models import Account
from accounts.services.account import find_or_create_user
from config.database.lengths import SHORT


class AccountForm(forms.ModelForm):  # type: ignore[type-arg]  # generic only in the stubs
    """The form of a new account, which names its owner by e-mail."""

    owner_email = forms.EmailField(
        label="owner's e-mail", max_length=SHORT, widget=UnfoldAdminEmailInputWidget, required=True
    )

    class Meta:
        model = Account
        fields = ("name", "plan", "mail_on_escalation")


@admin.register(Account)
class AccountAdmin(AccountRows):
    """Superusers change plan, quota and add-on; an account's managers only see them."""

    account_path = "pk"
    key = ("name", "id")
    list_display = ("name", "plan", "owner", "webhooks_enabled", "mail_on_escalation")
    list_select_related = ("plan", "owner")
    list_filter = (("plan", RelatedDropdownFilter),)
    search_fields = ("name__istartswith",)
    search_help_text = "the beginning of a name"
    fields = ("name", "owner", "plan", "webhooks_enabled", "mail_on_escalation")
    autocomplete_fields = ("owner",)
    inlines = (MembershipInline, InvitationInline, UsageInline)

    def get_fields(self, request: HttpRequest, obj: Account | None = None) -> Any:
        """Ask for the owner's e-mail on a new account, whose add-on follows from the plan."""
        return self.fields if obj else ("name", "owner_email", "plan", "mail_on_escalation")

    def get_form(
        self, request: HttpRequest, obj: Account | None = None, change: bool = False, **options: Any
    ) -> "type[ModelForm[Any]]":
        """Use AccountForm for a new account."""
        given = options if obj else options | {"form": AccountForm}
        form: type[ModelForm[Any]] = super().get_form(request, obj, change=change, **given)
        return form

    def get_inlines(self, request: HttpRequest, obj: Account | None) -> Any:
        """Show members, invitations and usage of an existing account only."""
        return self.inlines if obj else ()

    def get_readonly_fields(self, request: HttpRequest, obj: Account | None = None) -> Any:
        """Let an account's managers change only what is not paid for."""
        return () if person(request).is_superuser else ("owner", "plan", "webhooks_enabled")

    def save_model(
        self, request: HttpRequest, obj: Account, form: "ModelForm[Any]", change: bool
    ) -> None:
        """Create the owner of a new account if needed."""
        if not change:
            obj.owner = find_or_create_user(form.cleaned_data["owner_email"])
        super().save_model(request, obj, form, change)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Forbid it: an account's chatbots, conversations and deliveries would be deleted too."""
        return False
