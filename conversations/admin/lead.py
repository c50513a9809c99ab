"""The admin's list of leads: visitors who left an e-mail address or a phone number."""

from django.contrib import admin
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from accounts.admin.scope import ReadOnly
from chatbots.admin.erasing import Erasing
from chatbots.admin.scope import ChatbotFilter, ChatbotRows
from config.admin.dates import at
from conversations.models import Lead
from conversations.services.erasure import erase_lead

CAPTURED = at("captured_at", "captured")


@admin.register(Lead)
class LeadAdmin(Erasing, ReadOnly, ChatbotRows):
    """Captured leads, newest first."""

    key = ("-id",)
    consequences = (
        "The conversation and the visitor are kept, with the visitor's contact information.",
        "Mails about this conversation are deleted. Webhook deliveries with the contact "
        "information stay in the log, without their content.",
    )
    list_display = (CAPTURED, "name", "email", "phone", "chatbot")
    list_select_related = ("chatbot",)
    list_filter = (ChatbotFilter,)
    id_columns = ("pk", "thread_id")
    search_fields = ("pk",)
    search_help_text = "the complete id of a lead or a thread"
    fields = readonly_fields = ("chatbot", "name", "email", "phone", CAPTURED, "conversation")
    empty_text = "No visitor has left an e-mail address or a phone number yet."

    def erase(self, row: Lead) -> None:
        erase_lead(row)

    @admin.display(description="conversation")
    def conversation(self, lead: Lead) -> SafeString:
        """Link to the lead's conversation."""
        url = reverse("admin:conversations_thread_change", args=[lead.thread_id])
        return format_html('<a class="link" href="{}">open</a>', url)
