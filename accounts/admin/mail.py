"""The admin pages for outgoing emails: their state, and why an email was not sent."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from unfold.admin import ModelAdmin
from unfold.contrib.filters.admin import ChoicesDropdownFilter
from unfold.decorators import display

from accounts.admin.scope import AccountRows, ReadOnly, scoped_rows
from accounts.models import Account, Mail
from config.admin.choices import RowFilter
from config.admin.dates import at

MADE, DUE = at("created_at", "created"), at("due_at", "next attempt", empty="none")


class AccountFilter(RowFilter):
    """Filters by account. An account's page links to the list with this filter set."""

    title = parameter_name = "account"

    def rows(self, request: HttpRequest, model_admin: ModelAdmin) -> "QuerySet[Any]":
        """Return the accounts that the person manages."""
        return scoped_rows(model_admin.admin_site, Account, request)


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
