"""The admin's list of visitors."""

from django.contrib import admin
from django.contrib.admin.models import LogEntry

from accounts.admin.scope import ReadOnly
from chatbots.admin.erasing import KEPT_IN_THE_LOG, Erasing
from chatbots.admin.scope import ChatbotFilter, ChatbotRows
from config.admin.dates import at
from config.admin.figures import figure
from conversations.models import Visitor
from conversations.services.erasure import erase_visitor

SEEN = at("last_seen_at", "last seen")
SESSIONS = figure("total_sessions", "total sessions")
MESSAGES = figure("total_messages", "total messages")


@admin.register(Visitor)
class VisitorAdmin(Erasing, ReadOnly, ChatbotRows):
    """Visitors, newest first."""

    key = ("-id",)
    consequences = ("All of the visitor's conversations and leads are deleted.", KEPT_IN_THE_LOG)
    list_display = (
        "__str__",
        "email",
        "phone",
        "chatbot",
        SESSIONS,
        MESSAGES,
        SEEN,
    )
    list_select_related = ("chatbot",)
    list_filter = (ChatbotFilter,)
    id_columns = ("pk",)
    search_fields = ("pk",)
    search_help_text = "the complete id from the URL of a visitor's page"
    fields = readonly_fields = (
        "chatbot",
        "external_id",
        "name",
        "email",
        "phone",
        at("first_seen_at", "first seen"),
        SEEN,
        SESSIONS,
        MESSAGES,
    )
    empty_text = "There are no visitors yet."

    def erase(self, row: Visitor, entry: LogEntry) -> None:
        erase_visitor(row.pk, entry=entry)
