"""The admin's list of leads, which contain the contact information that visitors left."""

import re
from datetime import UTC
from typing import Any

from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.db.models import CharField, Func, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.admin import ModelAdmin
from unfold.contrib.filters.admin import DropdownFilter

from accounts.admin.scope import ReadOnly, person
from chatbots.admin.erasing import Erasing
from chatbots.admin.scope import AccountFilter, ChatbotFilter, ChatbotRows, open_chatbots
from config.admin.dates import at
from config.admin.export import Exporting
from config.admin.keyset import whole_id
from config.database.ids import first_id_of
from config.database.lengths import SHORT
from conversations.admin.figures import SPANS
from conversations.models import Lead, Thread
from conversations.services import search
from conversations.services.erasure import erase_lead

CAPTURED = at("captured_at", "captured")
PHONE = re.compile(r"\+?[\d\s()./-]{4,}")


class Digits(Func):
    """The digits of a phone number, without the characters that people write between them."""

    template = "%(expressions)s"
    for character in " +-/.()":
        template = f"REPLACE({template}, '{character}', '')"
    output_field = CharField()


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
    search_help_text = "a name, an email address, a phone number or a complete id"
    fields = readonly_fields = ("chatbot", "name", "email", "phone", CAPTURED, "conversation")
    empty_text = "No visitor has left an email address or a phone number yet."

    def get_search_results(
        self, request: HttpRequest, queryset: "QuerySet[Any]", search_term: str
    ) -> tuple["QuerySet[Any]", bool]:
        """Search by id, by part of a phone number, or by words in a name or an email address.

        A phone number may be written in any way, and begin with a zero instead of a country code.
        """
        text = search_term.strip()[:SHORT]
        if not text or whole_id(text):
            return super().get_search_results(request, queryset, search_term)
        if PHONE.fullmatch(text):
            digits = re.sub(r"\D", "", text).lstrip("0")
            found = queryset.annotate(digits=Digits("phone")).filter(digits__contains=digits)
            return (found if digits else queryset.none()), False
        chatbots = None if person(request).is_superuser else open_chatbots(request)
        return queryset.filter(thread__in=search.named(Thread.objects.all(), text, chatbots)), False

    def erase(self, row: Lead, entry: LogEntry) -> None:
        erase_lead(row, entry=entry)

    @admin.display(description="conversation")
    def conversation(self, lead: Lead) -> SafeString:
        """Link to the lead's conversation."""
        url = reverse("admin:conversations_thread_change", args=[lead.thread_id])
        return format_html('<a class="link" href="{}">open</a>', url)
