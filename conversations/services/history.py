"""Append to a thread's history, and read it in pages or as the turns of a prompt.

Only this module creates messages.

Specification: Resources, Message. Open point: message-order.
"""

from collections.abc import Mapping
from typing import Any, TypeVar

from django.db.models import (
    Case,
    F,
    PositiveIntegerField,
    QuerySet,
    Subquery,
    Sum,
    UUIDField,
    When,
    Window,
)
from django.db.models.functions import Length
from django.utils import timezone

from chatbots.llm.exchange import Turn
from chatbots.llm.prompt import HISTORY_CHARACTERS
from config.database.prepared import Given, insert, prepared
from config.database.row import save_changes
from conversations.models import Message, Thread
from conversations.models.message import MessageType
from conversations.services import handoffs

# A thread's title is the beginning of its visitor's first message. Open point: thread-fields
TITLE_LENGTH = 80
SPOKEN = [MessageType.USER_MESSAGE, MessageType.AI_MESSAGE, MessageType.AGENT_MESSAGE]

Messages = TypeVar("Messages", bound="QuerySet[Any]")


def append(
    thread: Thread,
    message_type: MessageType,
    content: str,
    *,
    changes: Mapping[str, Any] | None = None,
    **fields: Any,
) -> Message:
    """Store a message at the thread's next position, and save the thread's counters.

    `changes` maps other columns of the thread to their new values. A visitor's message reopens a
    resolved thread (open point: resolved-thread). Call this in a transaction that has locked the
    thread (`lock_thread`).
    """
    if message_type == MessageType.USER_MESSAGE and thread.resolved:
        handoffs.came_back(thread)
    changes = {**(changes or {}), **counters(thread, message_type, content)}
    save_changes(thread, changes)
    message = Message(
        thread=thread,
        position=thread.last_position,
        message_type=message_type,
        content=content,
        **fields,
    )
    insert(message)
    return message


def counters(thread: Thread, message_type: MessageType, content: str) -> dict[str, Any]:
    """Return new values for the thread's columns that change when a message is appended."""
    changes: dict[str, Any] = {"last_position": thread.last_position + 1}
    if message_type == MessageType.USER_MESSAGE:
        changes["unread_messages_count"] = thread.unread_messages_count + 1
        changes["visitor_messages_count"] = thread.visitor_messages_count + 1
        if thread.escalated and (thread.resolved or not thread.waiting_since):
            changes["waiting_since"] = timezone.now()
        if thread.resolved or thread.ended_at:
            changes |= {"resolved": False, "ended_at": None}
        if not (thread.title or thread.visitor_messages_count):
            changes["title"] = content[:TITLE_LENGTH]
    elif message_type == MessageType.AGENT_MESSAGE:
        changes |= {"unread_messages_count": 0, "waiting_since": None}
    return changes


def newest_first(messages: Messages) -> Messages:
    """Order a thread's messages by position, newest first."""
    return messages.order_by("-position")


def page(messages: Messages, thread: Any, *, limit: int, before: Any = None) -> Messages:
    """Select a thread's newest messages, or those older than the message `before`.

    `thread` and `before` are ids or expressions. One more message than `limit` is selected, so
    that `cut` can tell whether there are older ones. Nothing is selected if `before` is not one of
    the thread's messages.
    """
    messages = messages.filter(thread=thread)
    if before is not None:
        # Filter by the id only. With an additional filter by thread, SQLite might read the whole
        # thread if its statistics are out of date, for example after an operator has run ANALYZE.
        its_position = Case(When(thread=thread, then="position"))
        mark = Message.objects.filter(pk=before).values(mark=its_position)
        messages = messages.filter(position__lt=Subquery(mark))
    return newest_first(messages)[: limit + 1]


def cut(records: list[dict[str, Any]], limit: int) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return the first `limit` records of a page, and the Cursor for the next page."""
    shown, more = records[:limit], len(records) > limit
    cursor = {"limit": limit, "has_more": more, "next_cursor": shown[-1]["id"] if more else None}
    return shown, cursor


def heard(most: int) -> "QuerySet[Message, tuple[str, str]]":
    """Select up to `most` messages before a given position, newest first.

    Leaves out system and fallback messages. Stops before the total length would exceed
    HISTORY_CHARACTERS.
    """
    spoken = Message.objects.filter(
        thread=Given("thread", UUIDField()),
        position__lt=Given("position", PositiveIntegerField()),
        message_type__in=SPOKEN,
        fallback_reason=None,
    )
    newest = Message.objects.filter(pk__in=newest_first(spoken)[:most].values("pk"))
    size = Window(Sum(Length("content")), order_by=F("position").desc())
    fitting = newest.annotate(size=size).filter(size__lte=HISTORY_CHARACTERS)
    return newest_first(fitting).values_list("message_type", "content")


HEARD = prepared(heard)


def turns(message: Message, system: str, history_length: int) -> list[Turn]:
    """Build the turns of a prompt: the system message, earlier messages, and the visitor's message.

    There are at most `history_length` earlier messages.
    """
    said: list[tuple[str, str]] = []
    if history_length and message.position > 1:
        given = {"thread": message.thread_id, "position": message.position}
        said = HEARD.rows(history_length, **given)
    return [
        *([Turn("system", system)] if system else []),
        *(
            Turn("user" if kind == MessageType.USER_MESSAGE else "assistant", content)
            for kind, content in reversed(said)
        ),
        Turn("user", message.content),
    ]
