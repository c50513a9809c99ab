"""Accounts: who may do what in one, and how much is left."""

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


class AccountForm(forms.ModelForm):  # type: ignore[type-arg]  # generic in the stubs alone
    """A new account, with its owner by e-mail."""

    owner_email = forms.EmailField(
        label="owner's e-mail", max_length=255, widget=UnfoldAdminEmailInputWidget, required=True
    )

    class Meta:
        model = Account
        fields = ("name", "plan", "mail_on_escalation")


@admin.register(Account)
class AccountAdmin(AccountRows):
    """Plan, quota and add-on are the superuser's; an account's managers see them."""

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
        """Ask for the owner's e-mail at first; the add-on then follows from the plan."""
        return self.fields if obj else ("name", "owner_email", "plan", "mail_on_escalation")

    def get_form(
        self, request: HttpRequest, obj: Account | None = None, change: bool = False, **options: Any
    ) -> "type[ModelForm[Any]]":
        """Use the form of a new account for one."""
        given = options if obj else options | {"form": AccountForm}
        form: type[ModelForm[Any]] = super().get_form(request, obj, change=change, **given)
        return form

    def get_inlines(self, request: HttpRequest, obj: Account | None) -> Any:
        """Show members and usage of an account that is there."""
        return self.inlines if obj else ()

    def get_readonly_fields(self, request: HttpRequest, obj: Account | None = None) -> Any:
        """Leave to an account's managers what is not paid for."""
        return () if person(request).is_superuser else ("owner", "plan", "webhooks_enabled")

    def save_model(
        self, request: HttpRequest, obj: Account, form: "ModelForm[Any]", change: bool
    ) -> None:
        """Find or make the owner of a new account."""
        if not change:
            obj.owner = find_or_create_user(form.cleaned_data["owner_email"])
        super().save_model(request, obj, form, change)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Never here: an account's chatbots, conversations and deliveries would go with it."""
        return False
