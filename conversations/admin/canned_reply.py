"""The page on which agents manage an account's canned replies."""

from typing import Any

from django.contrib import admin
from django.db.models import ForeignKey, QuerySet
from django.forms import ModelChoiceField
from django.http import HttpRequest
from django.utils.text import Truncator

from accounts.admin.scope import ScopedAdmin, accounts_for, person
from accounts.models import Account
from accounts.permissions import Action
from conversations.models import CannedReply


@admin.register(CannedReply)
class CannedReplyAdmin(ScopedAdmin):
    """Canned replies, by name. Every member of the account may change them."""

    key = ("name", "id")
    list_display = ("__str__", "beginning", "account")
    list_select_related = ("account",)
    search_fields = ("name__istartswith",)
    search_help_text = "the beginning of a name"
    fields = ("account", "name", "text")
    empty_text = "There are no canned replies yet."

    def own(self, request: HttpRequest, rows: "QuerySet[Any]") -> "QuerySet[Any]":
        """Select the canned replies of the accounts that the person belongs to."""
        return rows.filter(account__in=accounts_for(request, Action.ENTER_ACCOUNT))

    def formfield_for_foreignkey(
        self, db_field: "ForeignKey[Any, Any]", request: HttpRequest, **options: Any
    ) -> "ModelChoiceField[Any] | None":
        """Offer the accounts that the person belongs to, and select the only one."""
        if not person(request).is_superuser:
            accounts = accounts_for(request, Action.ENTER_ACCOUNT)
            options["queryset"] = Account.objects.filter(pk__in=accounts).order_by("name", "id")
            options["initial"] = accounts[0] if len(accounts) == 1 else None
        return super().formfield_for_foreignkey(db_field, request, **options)

    @admin.display(description="text")
    def beginning(self, reply: CannedReply) -> str:
        """Return the beginning of the text."""
        return Truncator(reply.text).chars(80)
