"""The admin of outgoing mails: their state, and why one was not sent."""

from django.contrib import admin
from unfold.contrib.filters.admin import ChoicesDropdownFilter
from unfold.decorators import display

from accounts.admin.scope import AccountRows, ReadOnly
from accounts.models import Mail
from config.admin.dates import at

MADE, DUE = at("created_at", "created"), at("due_at", "next attempt")


@admin.register(Mail)
class MailAdmin(ReadOnly, AccountRows):
    """Read-only, because the service writes and sends mails."""

    key = ("-id",)
    list_display = (MADE, "to", "subject", "shown_state", "tries", DUE, "error")
    list_filter = (("state", ChoicesDropdownFilter),)
    fields = (
        "account",
        "to",
        "subject",
        "body",
        "state",
        "tries",
        DUE,
        at("sent_at", "sent"),
        "error",
        MADE,
    )
    readonly_fields = fields
    empty_text = "There are no mails yet."

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
        """Show the state as a word with a colour."""
        return mail.state
