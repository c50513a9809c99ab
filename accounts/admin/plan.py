"""The admin pages for plans, which only superusers can open."""

from django.contrib import admin

from accounts.admin.scope import SharedRows
from accounts.models import Plan


@admin.register(Plan)
class PlanAdmin(SharedRows):
    """Limits and quotas. No group has any permission on plans."""

    key = ("name", "id")
    search_fields = ("name__istartswith",)
    search_help_text = "the beginning of a name"
    empty_text = "There are no plans yet. Add one: every account needs a plan."
    list_display = (
        "name",
        "messages_per_minute",
        "ai_replies_per_minute",
        "monthly_messages",
        "max_chatbots",
        "webhooks_by_default",
    )
