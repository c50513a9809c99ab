"""Store visitors' reactions to messages. Open point: message-reaction."""

from collections import Counter

from django.db import transaction

from config.database.prepared import update_columns
from config.database.row import save_changes
from conversations.access import lock_thread
from conversations.models import Message

COUNTERS = {"POSITIVE": "positive_count", "NEGATIVE": "negative_count"}


def counter(reaction: str | None) -> str | None:
    """Return the name of the thread's counter for a reaction, or None if it is not counted."""
    return COUNTERS.get((reaction or "").upper())


def react(message: Message, reaction: str | None) -> Message:
    """Replace a message's reaction and adjust the thread's counters, under the thread's lock.

    Raises Message.DoesNotExist and ThreadNotFound.
    """
    with transaction.atomic():
        thread = lock_thread(message.thread_id)
        message = Message.objects.get(pk=message.pk)
        steps = Counter({counter(reaction): 1})
        steps.subtract([counter(message.reaction)])
        changed = [name for name, step in steps.items() if name and step]
        for name in changed:
            setattr(thread, name, getattr(thread, name) + steps[name])
        if changed:
            update_columns(thread, changed)  # a reaction does not count as activity
        save_changes(message, {"reaction": reaction})
    message.thread = thread
    return message
