"""The admin of usage: the messages that an account has used, by month."""

from django.contrib import admin
from unfold.admin import TabularInline

from accounts.admin.scope import AccountRows, ReadOnly
from accounts.models import Usage


def used(usage: Usage) -> str:
    """Format the month's messages, followed by the plan's quota if there is one."""
    quota = usage.account.plan.monthly_messages
    return f"{usage.messages:,} / {quota:,}" if quota is not None else f"{usage.messages:,}"


@admin.register(Usage)
class UsageAdmin(ReadOnly, AccountRows):
    """The usage of all accounts, newest month first."""

    key = ("-month", "-id")
    list_display = ("month", "account", "used_up")
    list_select_related = ("account__plan",)
    empty_text = "No visitor has sent a message yet."

    @admin.display(description="visitor messages")
    def used_up(self, usage: Usage) -> str:
        """Show the messages used and the quota."""
        return used(usage)


class UsageInline(ReadOnly, TabularInline):
    """The tab of an account's page with its messages per month."""

    model = Usage
    fields = readonly_fields = ("month", "messages")
    extra = 0
    tab = True
