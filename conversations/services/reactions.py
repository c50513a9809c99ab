"""Store visitors' reactions to messages. Open point: message-reaction."""

from uuid import UUID

from django.db import transaction

from conversations.access import lock_thread
from conversations.models import Message

COUNTERS = {"POSITIVE": "positive_count", "NEGATIVE": "negative_count"}


def counter(reaction: str | None) -> str | None:
    """Return the thread's counter that a reaction changes; None if it changes none."""
    return COUNTERS.get((reaction or "").upper())


def react(message_id: UUID, reaction: str | None) -> Message:
    """Replace a message's reaction and adjust the thread's counters, under the thread's lock.

    Raises Message.DoesNotExist and ThreadNotFound.
    """
    with transaction.atomic():
        thread = lock_thread(Message.objects.values_list("thread_id", flat=True).get(pk=message_id))
        message = Message.objects.get(pk=message_id)
        for value, step in ((message.reaction, -1), (reaction, 1)):
            if name := counter(value):
                setattr(thread, name, getattr(thread, name) + step)
        message.reaction = reaction
        message.save(update_fields=["reaction", "updated_at"])
        thread.save(update_fields=["positive_count", "negative_count"])
    message.thread = thread
    return message
