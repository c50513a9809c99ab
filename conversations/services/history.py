"""Append to a thread's history, and read it in pages or as the turns of a prompt.

Only this module creates messages.

Specification: Resources, Message. Open point: message-order.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Case, Exists, F, OuterRef, QuerySet, Subquery, Sum, Value, When, Window
from django.db.models.functions import Length
from django.utils import timezone

from chatbots.llm.exchange import Turn
from chatbots.llm.prompt import HISTORY_CHARACTERS
from chatbots.models import Chatbot
from config.database.prepared import Update, columns_of, insert, prepare, row
from config.database.row import save_changes
from conversations.models import Message, Thread
from conversations.models.message import MessageType
from conversations.services import handoffs, timeline

# A thread's title is the beginning of its visitor's first message. Open point: thread-fields
TITLE_LENGTH = 80
SPOKEN = [MessageType.USER_MESSAGE, MessageType.AI_MESSAGE, MessageType.AGENT_MESSAGE]


def append(
    thread: Thread,
    message_type: MessageType,
    content: str,
    *,
    changes: Mapping[str, Any] | None = None,
    **fields: Any,
) -> Message:
    """Store a message of an agent, the AI or the system at the thread's next position.

    `changes` maps other columns of the thread to their new values. Call this in a transaction that
    has locked the thread (`lock_thread`).
    """
    changes = {**(changes or {})}
    if message_type == MessageType.AGENT_MESSAGE:
        changes |= {"unread_messages_count": 0, "waiting_since": None}
    advance(thread, **changes)
    message = new(thread, message_type, content, **fields)
    insert(message)
    return message


def advance(thread: Thread, **changes: Any) -> None:
    """Take a locked thread's next position, and save other columns that change with it."""
    save_changes(thread, changes | {"last_position": thread.last_position + 1})


def new_from_visitor(thread: Thread, content: str, **fields: Any) -> Message | None:
    """Return a visitor's new message, at the next position of a thread, for the caller to store.

    The caller has read the thread without locking it. The thread is locked until the caller's
    transaction ends, and reopened if it was resolved (open point: resolved-thread). Returns None
    if the thread or its chatbot was erased.
    """
    title = content[:TITLE_LENGTH]
    found = FROM_VISITOR.first(thread=thread.pk, now=timezone.now(), title=title)
    if found is None:
        return None
    locked = as_stored(found, thread)
    changes: dict[str, Any] = {}
    if locked.resolved:
        handoffs.came_back(locked)
        timeline.record(locked, timeline.Kind.REOPENED, author=None)
    if locked.escalated and (locked.resolved or not locked.waiting_since):
        changes["waiting_since"] = timezone.now()
    if locked.resolved or locked.ended_at:
        changes |= {"resolved": False, "ended_at": None}
    save_changes(locked, changes)
    return new(locked, MessageType.USER_MESSAGE, content, **fields)


def take_position(thread: Thread) -> Thread | None:
    """Lock a thread, and take its next position for an AI reply.

    The caller has read `thread` without locking it. Returns the thread as stored, or None if it is
    escalated, or if it or its chatbot was erased.
    """
    found = FOR_REPLY.first(thread=thread.pk, now=timezone.now())
    return as_stored(found, thread) if found else None


def new(thread: Thread, message_type: MessageType, content: str, **fields: Any) -> Message:
    """Return a message at the position that a locked thread has taken, for the caller to store."""
    return Message(
        thread=thread,
        position=thread.last_position,
        message_type=message_type,
        content=content,
        **fields,
    )


COLUMNS = columns_of(Thread)


def next_position(rows: "QuerySet[Thread]", now: datetime, **values: Any) -> Update:
    """Take the next position of a thread that is not erased, and return the whole thread."""
    present = Exists(Chatbot.objects.filter(pk=OuterRef("chatbot")))
    values |= {"last_position": F("last_position") + 1, "updated_at": now}
    return Update(rows.filter(present), values, COLUMNS)


def position_from_visitor(*, thread: UUID, now: datetime, title: str) -> Update:
    """Take a thread's next position for a visitor's message. The first message sets the title."""
    untitled = When(title="", visitor_messages_count=0, then=Value(title))
    return next_position(
        Thread.objects.filter(pk=thread),
        now,
        title=Case(untitled, default="title"),
        unread_messages_count=F("unread_messages_count") + 1,
        visitor_messages_count=F("visitor_messages_count") + 1,
    )


def position_for_reply(*, thread: UUID, now: datetime) -> Update:
    """Take a thread's next position for an AI reply, if the thread is in AI mode."""
    return next_position(Thread.objects.filter(pk=thread, escalated=False), now)


FROM_VISITOR = prepare(position_from_visitor)
FOR_REPLY = prepare(position_for_reply)


def as_stored(columns: Sequence[Any], known: Thread) -> Thread:
    """Build a thread from its columns. It shares the chatbot and the visitor of `known`."""
    thread = row(Thread, COLUMNS, columns)
    thread.chatbot, thread.visitor = known.chatbot, known.visitor
    return thread


def newest_first(messages: "QuerySet[Message]") -> "QuerySet[Message]":
    """Order a thread's messages by position, newest first."""
    return messages.order_by("-position")


def page(limit: int, *, thread: UUID, before: UUID | None) -> "QuerySet[Message]":
    """Select a thread's newest messages, or those older than the message `before`.

    One more message than `limit` is selected, so that `cut` can tell whether there are older ones.
    Nothing is selected if `before` is not one of the thread's messages.
    """
    messages = Message.objects.filter(thread=thread)
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


def heard(most: int, *, thread: UUID, position: int) -> "QuerySet[Message, tuple[str, str]]":
    """Select up to `most` messages before a position, newest first.

    Leaves out system and fallback messages. Stops before the total length would exceed
    HISTORY_CHARACTERS.
    """
    spoken = Message.objects.filter(
        thread=thread,
        position__lt=position,
        message_type__in=SPOKEN,
        fallback_reason=None,
    )
    newest = Message.objects.filter(pk__in=newest_first(spoken)[:most].values("pk"))
    size = Window(Sum(Length("content")), order_by=F("position").desc())
    fitting = newest.annotate(size=size).filter(size__lte=HISTORY_CHARACTERS)
    return newest_first(fitting).values_list("message_type", "content")


HEARD = prepare(heard)


def turns(message: Message, system: str, history_length: int) -> list[Turn]:
    """Build the turns of a prompt: the system message, earlier messages, and the visitor's message.

    There are at most `history_length` earlier messages.
    """
    said: list[tuple[str, str]] = []
    if history_length and message.position > 1:
        said = HEARD.rows(history_length, thread=message.thread_id, position=message.position)
    return [
        *([Turn("system", system)] if system else []),
        *(
            Turn("user" if kind == MessageType.USER_MESSAGE else "assistant", content)
            for kind, content in reversed(said)
        ),
        Turn("user", message.content),
    ]
