"""The admin pages for usage: the messages that each account has used, by month."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from accounts.admin.scope import AccountRows, ReadOnly
from accounts.models import Usage
from config.admin.figures import figure
from config.admin.inline_pages import PagedInline


def used(usage: Usage) -> str:
    """Format the month's message count, followed by the plan's quota if there is one."""
    quota = usage.account.plan.monthly_messages
    return f"{usage.messages:,} / {quota:,}" if quota is not None else f"{usage.messages:,}"


@admin.display(description="month")
def month(usage: Usage) -> str:
    """Show the month, or nothing if the form has no row. A month is stored as its first day."""
    return f"{usage.month:%B %Y}" if usage.month else ""


MESSAGES = figure("messages", "messages")


@admin.register(Usage)
class UsageAdmin(ReadOnly, AccountRows):
    """Usage by month and account, newest month first."""

    key = ("-month", "-id")
    list_display = (month, "account", "used_up")
    list_select_related = ("account__plan",)
    fields = readonly_fields = ("account", month, MESSAGES, "notified")
    empty_text = "No visitor has sent a message yet."

    @admin.display(description="visitor messages")
    def used_up(self, usage: Usage) -> str:
        """Show the number of messages used, and the quota if there is one."""
        return used(usage)

    @admin.display(description="owner notified")
    def notified(self, usage: Usage) -> str:
        """Show the share of the quota at which the owner was last notified."""
        return f"at {usage.told}% of the quota" if usage.told else "not yet"


class UsageInline(ReadOnly, PagedInline):
    """The tab on an account's page that shows the account's messages per month."""

    model = Usage
    empty_text = "No visitor has sent a message yet."
    fields = readonly_fields = (month, MESSAGES)
    ordering = ("-month",)

    def get_queryset(self, request: HttpRequest) -> "QuerySet[Usage]":
        """Fetch the account with each month, because `str(usage)` contains the account's name."""
        rows: QuerySet[Usage] = super().get_queryset(request)
        return rows.select_related("account")
