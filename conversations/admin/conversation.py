"""What the page of a thread shows: bubbles, newest 50, older ones by key."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest

from config.admin.keyset import whole_id
from conversations.models import Draft, Message, Thread
from conversations.models.message import MessageQuerySet, MessageType
from webhooks.models import Delivery

PAGE = 50
LINKED = 4_000  # characters: looking for links in more than that is not worth its time
OTHER_THREADS = 5
COUNTED = 100  # deliveries

KINDS = {
    MessageType.USER_MESSAGE: "visitor",
    MessageType.AI_MESSAGE: "bot",
    MessageType.AGENT_MESSAGE: "agent",
    MessageType.SYSTEM_MESSAGE: "system",
}


@dataclass(frozen=True)
class Bubble:
    """A message as it is drawn: who spoke is always a word."""

    message: Message

    @property
    def kind(self) -> str:
        """Name the side and colour."""
        return KINDS[MessageType(self.message.message_type)]

    @property
    def who(self) -> str:
        """Name the speaker."""
        names = {"visitor": "Visitor", "bot": "AI", "system": "System"}
        return names.get(self.kind) or self.message.agent_name or "Agent"

    @property
    def links(self) -> bool:
        """Say whether links are to be looked for in the words."""
        return len(self.message.content) <= LINKED

    @property
    def sources(self) -> list[dict[str, str]]:
        """List the sources of a reply that can be opened."""
        return [
            source
            for source in self.message.source
            if str(source.get("url", "")).startswith(("https://", "http://"))
        ]

    @property
    def made_by(self) -> str:
        """Name the model of a reply, or the reason for a fallback; older fallbacks have none."""
        message = self.message
        if message.fallback_reason:
            return f"fallback text: {message.fallback_reason}"
        if message.reply_ms is None:
            return str(message.llm_model or "fallback text")
        return f"{message.llm_model or 'deleted model'}, {message.reply_ms} ms"

    @property
    def draft(self) -> Draft | None:
        """Find the reply to this message that came too late and was not sent."""
        return getattr(self.message, "draft", None)


@dataclass(frozen=True)
class Excerpt:
    """Some of a thread's messages in the order of the talk, and whether there are older ones."""

    bubbles: list[Bubble]
    older: bool

    @property
    def first_id(self) -> str:
        """Name the message before which the older ones lie."""
        return str(self.bubbles[0].message.pk) if self.bubbles else ""


def messages_of(thread: Thread) -> MessageQuerySet:
    """Start from a thread's messages, with what a bubble needs."""
    rows: MessageQuerySet = Message.objects.filter(thread=thread)
    return rows.select_related("draft", "llm_model")


def newest(thread: Thread, before: str | None) -> Excerpt:
    """Read the newest messages, or the newest of those before one. An unknown one is ignored."""
    rows = messages_of(thread).newest_first()
    mark = whole_id(before or "")
    if mark and rows.filter(pk=mark).exists():
        rows = rows.older_than(mark)
    page = list(rows[: PAGE + 1])
    return Excerpt([Bubble(message) for message in reversed(page[:PAGE])], len(page) > PAGE)


def since(thread: Thread, position: int) -> list[Bubble]:
    """Read what was said after a position, a page at most."""
    rows = messages_of(thread).filter(position__gt=position).order_by("position")
    return [Bubble(message) for message in rows[:PAGE]]


def delivery_counts(thread: Thread) -> dict[str, int]:
    """Count the thread's newest deliveries by state."""
    states = Delivery.objects.filter(thread_id=thread.pk).order_by("-id")
    return dict(Counter(states.values_list("state", flat=True)[:COUNTED]))


def other_threads(thread: Thread) -> "QuerySet[Thread]":
    """Find the visitor's latest other threads."""
    rows = Thread.objects.filter(visitor=thread.visitor_id).exclude(pk=thread.pk)
    return rows.latest_first()[:OTHER_THREADS]


def chosen_draft(thread: Thread, request: HttpRequest) -> Draft | None:
    """Find the draft that is to be used as an answer."""
    wanted: Any = whole_id(request.GET.get("draft", ""))
    return Draft.objects.filter(pk=wanted, message__thread=thread).first() if wanted else None
