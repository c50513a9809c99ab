"""Append to a thread's history. This is the only place that creates messages."""

from typing import Any

from conversations.models import Message, Thread
from conversations.models.message import MessageType

TITLE_LENGTH = 80  # characters of the first visitor's message. Open point: thread-fields


def append(thread: Thread, message_type: MessageType, content: str, **fields: Any) -> Message:
    """Store a message at the thread's next position and save the thread's counters.

    A visitor's message reopens a resolved thread (open point: resolved-thread). The caller holds
    the thread's lock (`lock_thread`) and the transaction.
    """
    thread.last_position += 1
    if message_type == MessageType.USER_MESSAGE:
        thread.resolved, thread.ended_at = False, None
        thread.unread_messages_count += 1
        thread.visitor_messages_count += 1
        if thread.visitor_messages_count == 1:
            thread.title = thread.title or content[:TITLE_LENGTH]
    elif message_type == MessageType.AGENT_MESSAGE:
        thread.unread_messages_count = 0
    thread.save()
    return Message.objects.create(
        thread=thread,
        position=thread.last_position,
        message_type=message_type,
        content=content,
        **fields,
    )
