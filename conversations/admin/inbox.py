"""The inbox: which conversation needs an agent next?"""

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
from conversations.admin.thread import ThreadDetailAdmin
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

    The last message is either the visitor's or the system message that an escalation writes.
    """
    last = Message.objects.filter(thread=OuterRef("pk"), position=OuterRef("last_position"))
    unanswered = last.filter(
        Q(message_type=MessageType.USER_MESSAGE)
        | Q(system_message_type=SystemMessageType.CONVERSATION_ESCALATED)
    )
    return open_escalated(threads).filter(Exists(unanswered))


def open_escalated(threads: "QuerySet[Thread]") -> "QuerySet[Thread]":
    """Keep the open threads that a person answers; a partial index contains exactly these."""
    return threads.filter(escalated=True, resolved=False, archived=False)


class InboxList(KeysetChangeList):
    """The threads of one view: the longest wait first in "waiting", else the latest activity."""

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
        """Order the waiting view by the longest wait, the others by the latest activity."""
        return ("updated_at", "id") if self.view == "waiting" else ("-updated_at", "-id")

    def get_query_string(self, new_params: Any = None, remove: Any = None) -> str:
        """Keep the view in every link of the list."""
        text: str = super().get_query_string({VIEW: self.view} | (new_params or {}), remove)
        return text

    @property
    def empty_text(self) -> str:
        """Return the text of an empty view."""
        if self.view == "waiting":
            return "Nobody is waiting."
        return str(self.model_admin.empty_text)

    def tabs(self) -> list[dict[str, Any]]:
        """Return the links to the views, shown above the list."""
        return [
            {"label": label, "url": f"?{VIEW}={name}", "active": name == self.view}
            for name, label in VIEWS.items()
        ]


@admin.register(Thread)
class ThreadAdmin(Erasing, ReadOnly, ThreadDetailAdmin, ChatbotRows):
    """The list of threads; a thread's own page is ThreadDetailAdmin."""

    key = ("-updated_at", "-id")
    consequences = ("The visitor is kept.", KEPT_IN_THE_LOG)
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
    search_help_text = "a thread's complete id"
    empty_text = "There are no conversations yet. A conversation appears with its first message."

    def erase(self, row: Thread) -> None:
        erase_thread(row.pk)

    def get_changelist(self, request: HttpRequest, **options: Any) -> type[ChangeList]:
        """Use the list that shows one view at a time."""
        return InboxList

    def get_queryset(self, request: HttpRequest) -> "QuerySet[Any]":
        """Read each thread with its visitor, its chatbot and its last message."""
        last = Message.objects.filter(position=F("thread__last_position"))
        return (
            super()
            .get_queryset(request)
            .select_related("visitor", "chatbot")
            .prefetch_related(Prefetch("messages", queryset=last, to_attr="last_messages"))
        )

    @display(description="visitor")
    def visitor_name(self, thread: Thread) -> str:
        """Return the visitor's name, e-mail address or id."""
        return str(thread.visitor)

    @display(description="last words")
    def last_words(self, thread: Any) -> str:
        """Quote the last message, and name its author unless the visitor wrote it."""
        for message in thread.last_messages:
            words = truncatechars(message.content, LAST_WORDS)
            return f"{SPEAKERS[MessageType(message.message_type)]}{words}"
        return "no message yet"

    @display(description="since")
    def since(self, thread: Any) -> SafeString:
        """Return in words how long ago the last message was sent."""
        moment = next((m.created_at for m in thread.last_messages), thread.started_at)
        return format_html(
            '<time datetime="{}">{}</time>',
            moment.isoformat(),
            timesince(moment, timezone.now(), depth=1),
        )

    @display(description="tags")
    def shown_tags(self, thread: Thread) -> SafeString:
        """Show each tag in a box."""
        return format_html_join(" ", '<span class="tag">{}</span>', ([tag] for tag in thread.tags))

    @display(description="unread")
    def unread(self, thread: Thread) -> str:
        """Return the number of unread messages; empty if there are none."""
        return str(thread.unread_messages_count or "")

    @display(description="flags")
    def flags(self, thread: Thread) -> str:
        """List the flags that are set."""
        answering = ["escalated"] if mode(thread.escalated) == Mode.AGENT else []
        return ", ".join([*answering, *(name for name in FLAGS if getattr(thread, name))])
