"""The inbox: whom does an agent answer next?"""

from typing import Any

from django.contrib import admin
from django.contrib.admin import display
from django.db.models import Exists, F, OuterRef, Prefetch, Q, QuerySet
from django.http import HttpRequest
from django.template.defaultfilters import truncatechars
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.timesince import timesince
from unfold.views import ChangeList

from accounts.admin.scope import ReadOnly
from chatbots.admin.erasing import KEPT_IN_THE_LOG, Erasing
from chatbots.admin.scope import ChatbotFilter, ChatbotRows
from config.admin.keyset import KeysetChangeList
from conversations.admin.thread import ThreadPage
from conversations.models import Message, Thread
from conversations.models.message import MessageType, SystemMessageType
from conversations.models.thread import Mode, mode
from conversations.services.erasure import erase_thread

VIEW = "view"
VIEWS = {"waiting": "Waiting", "escalated": "Escalated", "open": "All open", "all": "All"}
DEFAULT_VIEW = "open"
LAST_WORDS = 80  # characters
SPEAKERS = {
    MessageType.USER_MESSAGE: "",
    MessageType.AI_MESSAGE: "AI: ",
    MessageType.AGENT_MESSAGE: "Agent: ",
    MessageType.SYSTEM_MESSAGE: "System: ",
}
FLAGS = ("important", "resolved", "archived")


def waiting(threads: "QuerySet[Thread]") -> "QuerySet[Thread]":
    """Keep the threads whose visitor waits for a person.

    The last word is the visitor's, or that a person will come: asking for one writes just that.
    """
    last = Message.objects.filter(thread=OuterRef("pk"), position=OuterRef("last_position"))
    unanswered = last.filter(
        Q(message_type=MessageType.USER_MESSAGE)
        | Q(system_message_type=SystemMessageType.CONVERSATION_ESCALATED)
    )
    return open_escalated(threads).filter(Exists(unanswered))


def open_escalated(threads: "QuerySet[Thread]") -> "QuerySet[Thread]":
    """Keep the open threads that a person answers in; an index holds just these."""
    return threads.filter(escalated=True, resolved=False, archived=False)


class InboxList(KeysetChangeList):
    """The threads of one view: waiting ones longest first, all others by latest activity."""

    def __init__(self, request: HttpRequest, *args: Any, **options: Any) -> None:
        given = request.GET.get(VIEW, DEFAULT_VIEW)
        self.view = given if given in VIEWS else DEFAULT_VIEW
        super().__init__(request, *args, **options)

    def get_queryset(
        self, request: HttpRequest, exclude_parameters: list[str] | None = None
    ) -> "QuerySet[Any]":
        """Keep the threads of the view."""
        self.params.pop(VIEW, None)
        self.filter_params.pop(VIEW, None)
        rows: QuerySet[Any] = super().get_queryset(request, exclude_parameters)
        match self.view:
            case "waiting":
                return waiting(rows)
            case "escalated":
                return open_escalated(rows)
            case "open":
                return rows.filter(resolved=False, archived=False)
        return rows

    def get_key(self, request: HttpRequest) -> tuple[str, ...]:
        """Begin with who waits longest where somebody waits."""
        return ("updated_at", "id") if self.view == "waiting" else ("-updated_at", "-id")

    def get_query_string(self, new_params: Any = None, remove: Any = None) -> str:
        """Stay in the view, whatever else changes."""
        text: str = super().get_query_string({VIEW: self.view} | (new_params or {}), remove)
        return text

    @property
    def empty_text(self) -> str:
        """Say what it means that the view is empty."""
        if self.view == "waiting":
            return "Nobody is waiting."
        return str(self.model_admin.empty_text)

    def tabs(self) -> list[dict[str, Any]]:
        """Name the views for the links above the list."""
        return [
            {"label": label, "url": f"?{VIEW}={name}", "active": name == self.view}
            for name, label in VIEWS.items()
        ]


@admin.register(Thread)
class ThreadAdmin(Erasing, ReadOnly, ThreadPage, ChatbotRows):
    """The list of threads; a thread's own page is ThreadPage."""

    key = ("-updated_at", "-id")
    consequences = ("The visitor stays.", KEPT_IN_THE_LOG)
    list_display = (
        "visitor_name",
        "last_words",
        "since",
        "chatbot",
        "shown_tags",
        "unread",
        "flags",
    )
    list_display_links = ("visitor_name", "last_words")
    list_filter = (ChatbotFilter, "important")
    list_before_template = "admin/conversations/inbox_tabs.html"
    id_columns = ("pk",)
    search_fields = ("pk",)
    search_help_text = "a thread's whole id"
    empty_text = "Nobody is here. Conversations appear with their first message."

    def erase(self, row: Thread) -> None:
        """Delete a conversation."""
        erase_thread(row.pk)

    def get_changelist(self, request: HttpRequest, **options: Any) -> type[ChangeList]:
        """Show one view at a time."""
        return InboxList

    def get_queryset(self, request: HttpRequest) -> "QuerySet[Any]":
        """Read with each thread its visitor, its chatbot and its last message."""
        last = Message.objects.filter(position=F("thread__last_position"))
        return (
            super()
            .get_queryset(request)
            .select_related("visitor", "chatbot")
            .prefetch_related(Prefetch("messages", queryset=last, to_attr="last_messages"))
        )

    @display(description="visitor")
    def visitor_name(self, thread: Thread) -> str:
        """Name the visitor."""
        return str(thread.visitor)

    @display(description="last words")
    def last_words(self, thread: Any) -> str:
        """Quote the last message, and say who wrote it where it was not the visitor."""
        for message in thread.last_messages:
            words = truncatechars(message.content, LAST_WORDS)
            return f"{SPEAKERS[MessageType(message.message_type)]}{words}"
        return "no message yet"

    @display(description="since")
    def since(self, thread: Any) -> SafeString:
        """Say in words how long ago the last message came."""
        moment = next((m.created_at for m in thread.last_messages), thread.started_at)
        return format_html(
            '<time datetime="{}">{}</time>',
            moment.isoformat(),
            timesince(moment, timezone.now(), depth=1),
        )

    @display(description="tags")
    def shown_tags(self, thread: Thread) -> SafeString:
        """Show the tags."""
        return format_html_join(" ", '<span class="tag">{}</span>', ([tag] for tag in thread.tags))

    @display(description="unread")
    def unread(self, thread: Thread) -> str:
        """Show the count, where there is one."""
        return str(thread.unread_messages_count or "")

    @display(description="flags")
    def flags(self, thread: Thread) -> str:
        """Name what is set."""
        answering = ["escalated"] if mode(thread.escalated) == Mode.AGENT else []
        return ", ".join([*answering, *(name for name in FLAGS if getattr(thread, name))])
