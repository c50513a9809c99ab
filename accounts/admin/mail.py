"""The admin pages for outgoing emails: their state, and why an email was not sent."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from unfold.admin import ModelAdmin
from unfold.contrib.filters.admin import ChoicesDropdownFilter, DropdownFilter
from unfold.decorators import display

from accounts.admin.scope import AccountRows, ReadOnly, scoped_rows
from accounts.models import Account, Mail
from config.admin.dates import at
from config.admin.keyset import whole_id

MADE, DUE = at("created_at", "created"), at("due_at", "next attempt", empty="none")


class AccountFilter(DropdownFilter):
    """Filters by account. An account's page links to the list with this filter set."""

    title = parameter_name = "account"

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin) -> list[tuple[str, str]]:
        """Offer only the account that is already selected."""
        wanted = whole_id(self.value() or "")
        mine = scoped_rows(model_admin.admin_site, Account, request)
        found = mine.filter(pk=wanted).values_list("pk", "name") if wanted else ()
        return [(str(key), name) for key, name in found]

    def has_output(self) -> bool:
        """Return whether an account is selected."""
        return bool(self.value())

    def queryset(self, request: HttpRequest, queryset: "QuerySet[Any]") -> "QuerySet[Any]":
        """Select the account's emails."""
        if not self.value():
            return queryset
        wanted = whole_id(self.value() or "")
        return queryset.filter(account=wanted) if wanted else queryset.none()


@admin.register(Mail)
class MailAdmin(ReadOnly, AccountRows):
    """The pages for outgoing emails. Only the service creates and sends emails."""

    key = ("-id",)
    list_display = (MADE, "to", "subject", "shown_state", "tries", DUE, "error")
    list_filter = (("state", ChoicesDropdownFilter), AccountFilter)
    fields = (
        "account",
        "to",
        "subject",
        "body",
        "state",
        "tries",
        DUE,
        at("sent_at", "sent", empty="not sent"),
        "error",
        MADE,
    )
    readonly_fields = fields
    empty_text = "There are no emails yet."

    @display(
        description="state",
        label={
            Mail.State.PENDING.value: "info",
            Mail.State.RETRYING.value: "warning",
            Mail.State.SENT.value: "success",
            Mail.State.FAILED.value: "danger",
        },
    )
    def shown_state(self, mail: Mail) -> str:
        """Show the state as a colored label."""
        return mail.state
