"""The admin's list of leads, which contain the contact information that visitors left."""

from datetime import UTC
from typing import Any

from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.admin import ModelAdmin
from unfold.contrib.filters.admin import DropdownFilter

from accounts.admin.scope import ReadOnly
from chatbots.admin.erasing import Erasing
from chatbots.admin.scope import AccountFilter, ChatbotFilter, ChatbotRows
from config.admin.dates import at
from config.admin.export import Exporting
from config.database.ids import first_id_of
from conversations.admin.figures import SPANS
from conversations.models import Lead
from conversations.services.erasure import erase_lead

CAPTURED = at("captured_at", "captured")


class CapturedSince(DropdownFilter):
    """Filters leads by a time span. Compares ids, because the list is ordered by id."""

    title = "captured in the last"
    parameter_name = "since"

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin) -> list[tuple[str, str]]:
        """Offer the spans."""
        return [(span.name, span.label.removeprefix("last ")) for span in SPANS.values()]

    def queryset(self, request: HttpRequest, queryset: "QuerySet[Any]") -> "QuerySet[Any]":
        """Select the leads captured in the span."""
        span = SPANS.get(self.value() or "")
        if span is None:
            return queryset
        since = span.since(timezone.now().astimezone(UTC))
        return queryset.filter(pk__gte=first_id_of(since))


@admin.register(Lead)
class LeadAdmin(Erasing, ReadOnly, Exporting, ChatbotRows):
    """Captured leads, newest first."""

    key = export_key = ("-id",)
    export_columns = {
        "id": "pk",
        "capturedAt": "captured_at",
        "chatbotId": "chatbot_id",
        "chatbot": "chatbot__name",
        "threadId": "thread_id",
        "name": "name",
        "email": "email",
        "phone": "phone",
    }
    list_before_template = "admin/export_links.html"
    consequences = (
        "The conversation and the visitor, including the contact information, are kept.",
        "Emails about this conversation are deleted. Webhook deliveries that contain the contact "
        "information stay in the log, but without their content.",
    )
    list_display = (CAPTURED, "name", "email", "phone", "chatbot")
    list_select_related = ("chatbot",)
    list_filter = (AccountFilter, ChatbotFilter, CapturedSince)
    id_columns = ("pk", "thread_id")
    search_fields = ("pk",)
    search_help_text = "the complete id of a lead or a thread"
    fields = readonly_fields = ("chatbot", "name", "email", "phone", CAPTURED, "conversation")
    empty_text = "No visitor has left an email address or a phone number yet."

    def erase(self, row: Lead, entry: LogEntry) -> None:
        erase_lead(row, entry=entry)

    @admin.display(description="conversation")
    def conversation(self, lead: Lead) -> SafeString:
        """Link to the lead's conversation."""
        url = reverse("admin:conversations_thread_change", args=[lead.thread_id])
        return format_html('<a class="link" href="{}">open</a>', url)
