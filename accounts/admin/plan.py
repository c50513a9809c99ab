"""The admin pages for plans, which only superusers can open."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from accounts.admin.scope import SharedRows
from accounts.models import Account, Plan
from config.admin.figures import figure

MOST_NAMED = 20  # accounts


@admin.register(Plan)
class PlanAdmin(SharedRows):
    """The pages for plans, which set limits and quotas. No group has permissions for plans."""

    key = ("name", "id")
    search_fields = ("name__istartswith",)
    search_help_text = "the beginning of a name"
    empty_text = "There are no plans yet. Add one: every account needs a plan."
    list_display = (
        "name",
        figure("messages_per_minute", "messages per minute"),
        figure("ai_replies_per_minute", "AI replies per minute"),
        figure("monthly_messages", "monthly messages", empty="unlimited"),
        figure("max_chatbots", "chatbots", empty="unlimited"),
        "webhooks_by_default",
    )

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Block the deletion of plans in use, and list some of the accounts that use them."""
        accounts = Account.objects.filter(plan__in=objs).order_by("name", "id")[:MOST_NAMED]
        return [str(plan) for plan in objs], {}, set(), [f"account {each}" for each in accounts]
