"""Append to a thread's history and read it in pages. Only this module creates messages.

Specification: Resources, Message. Open point: message-order.
"""

from collections.abc import Mapping
from typing import Any, TypeVar

from django.db.models import Case, QuerySet, Subquery, When
from django.utils import timezone

from config.database.prepared import insert
from config.database.row import save_changes
from conversations.models import Message, Thread
from conversations.models.message import MessageType
from conversations.services import handoffs

TITLE_LENGTH = 80  # characters of the first visitor's message. Open point: thread-fields

Messages = TypeVar("Messages", bound="QuerySet[Any]")


def append(
    thread: Thread,
    message_type: MessageType,
    content: str,
    *,
    changes: Mapping[str, Any] | None = None,
    **fields: Any,
) -> Message:
    """Store a message at the thread's next position; save the thread's counters and changes.

    A visitor's message reopens a resolved thread (open point: resolved-thread). The caller holds
    the thread's lock (`lock_thread`) and the transaction.
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
    """Return the thread's columns that its next message changes."""
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

    `thread` and `before` are ids or expressions. One more than `limit` is selected; `cut` turns the
    surplus into the cursor. Nothing is selected if `before` is not one of the thread's messages.
    """
    messages = messages.filter(thread=thread)
    if before is not None:
        # Only the id selects the row: with old statistics, SQLite would read the whole thread.
        its_position = Case(When(thread=thread, then="position"))
        mark = Message.objects.filter(pk=before).values(mark=its_position)
        messages = messages.filter(position__lt=Subquery(mark))
    return newest_first(messages)[: limit + 1]


def cut(records: list[dict[str, Any]], limit: int) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Split the records of `page` into those to show and their Cursor."""
    shown, more = records[:limit], len(records) > limit
    cursor = {"limit": limit, "has_more": more, "next_cursor": shown[-1]["id"] if more else None}
    return shown, cursor
