"""The admin pages for plans, which only superusers can open."""

from django.contrib import admin

from accounts.admin.scope import SharedRows
from accounts.models import Plan
from config.admin.figures import figure


@admin.register(Plan)
class PlanAdmin(SharedRows):
    """Limits and quotas. No group has any permission on plans."""

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
