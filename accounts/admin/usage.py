"""What accounts have used up, month by month."""

from django.contrib import admin
from unfold.admin import TabularInline

from accounts.admin.scope import AccountRows, ReadOnly
from accounts.models import Usage


def used(usage: Usage) -> str:
    """Write the month's messages beside the quota of the account's plan."""
    quota = usage.account.plan.monthly_messages
    return f"{usage.messages:,} / {quota:,}" if quota is not None else f"{usage.messages:,}"


@admin.register(Usage)
class UsageAdmin(ReadOnly, AccountRows):
    """The log of all months."""

    key = ("-month", "-id")
    list_display = ("month", "account", "used_up")
    list_select_related = ("account__plan",)
    empty_text = "No visitor has sent a message yet."

    @admin.display(description="visitor messages")
    def used_up(self, usage: Usage) -> str:
        """Show the figure."""
        return used(usage)


class UsageInline(ReadOnly, TabularInline):
    """The months of one account."""

    model = Usage
    fields = readonly_fields = ("month", "messages")
    extra = 0
    tab = True
