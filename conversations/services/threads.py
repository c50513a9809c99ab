"""Create and change threads. Open points: thread-create, thread-update, visitor, thread-fields."""

from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from config.database.ids import new_id
from config.database.prepared import insert, update_columns
from config.database.row import save_changes
from config.runtime.context import current_person
from conversations.access import lock_thread
from conversations.models import Thread, Visitor
from conversations.models.thread import MOST_TAGS
from conversations.services import handoffs, leads, timeline

CONTACT = {"visitor_name": "name", "visitor_email": "email", "visitor_phone": "phone"}


def contact_of(given: dict[str, Any]) -> dict[str, str]:
    """Extract contact information from a request's fields, keyed by the visitor's column names."""
    return {inside: given[outside] for outside, inside in CONTACT.items() if outside in given}


def welcome(chatbot_id: UUID, external_id: str | None, contact: dict[str, str]) -> Visitor:
    """Find or create a thread's visitor, store the contact information and count the session."""
    if external_id is None:
        named: dict[str, Any] = {"external_id": str(new_id()), **contact}
        visitor = Visitor(chatbot_id=chatbot_id, total_sessions=1, **named)
        insert(visitor)
        return visitor
    # This call also creates a new visitor if the existing one has just been erased.
    visitor, _ = Visitor.objects.select_for_update().get_or_create(
        chatbot_id=chatbot_id, external_id=external_id
    )
    visitor.last_seen_at = timezone.now()
    visitor.total_sessions += 1
    leads.change_contact(visitor, contact, "last_seen_at", "total_sessions")
    return visitor


def create(chatbot_id: UUID, given: dict[str, Any]) -> Thread:
    """Create a thread from a ThreadInput.

    Also captures a lead if the lead settings and the contact information permit it. Raises
    ChatbotNotFound if the chatbot has been erased since the caller opened it.
    """
    own = {
        name: given[name]
        for name in ("title", "anonymous", "platform_source", "tags")
        if name in given
    }
    with transaction.atomic():
        visitor = welcome(chatbot_id, given.get("visitor_id"), contact_of(given))
        thread = Thread(chatbot_id=chatbot_id, visitor=visitor, **own)
        insert(thread)  # no other transaction sees it yet, so it needs no lock
        leads.capture(thread)
    return thread


def update(thread_id: UUID, changes: dict[str, Any], *, chatbot_id: UUID | None = None) -> Thread:
    """Change a thread and its visitor's contact information, as given by ThreadChanges or a form.

    New contact information may create or update the lead. Raises ThreadNotFound if the thread does
    not exist or belongs to a different chatbot.
    """
    contact = contact_of(changes)
    own = {name: value for name, value in changes.items() if name not in CONTACT}
    with transaction.atomic():
        thread = lock_thread(thread_id, chatbot_id=chatbot_id)
        if "resolved" in own and own["resolved"] != thread.resolved:
            own["ended_at"] = timezone.now() if own["resolved"] else None
            kind = timeline.Kind.RESOLVED if own["resolved"] else timeline.Kind.REOPENED
            timeline.record(thread, kind, author=current_person())
            if own["resolved"]:
                handoffs.resolved(thread)
        if contact:
            known = thread.visitor.identified
            leads.change_contact(thread.visitor, contact)
            if thread.visitor.identified != known:
                own["anonymous"] = None  # the value is now derived from the contact information
        for name, value in own.items():
            setattr(thread, name, value)
        if changes:  # a request without changes does not count as activity
            update_columns(thread, [*own, "updated_at"])
        if contact:
            leads.capture(thread)
    return thread


def add_tag(thread_id: UUID, tag: str) -> bool:
    """Add a tag to a thread. Raises ThreadNotFound.

    Returns False if the thread would then have more than MOST_TAGS tags.
    """
    with transaction.atomic():
        thread = lock_thread(thread_id)
        if tag in thread.tags:
            return True
        if len(thread.tags) >= MOST_TAGS:
            return False
        save_changes(thread, {"tags": [*thread.tags, tag]})
    return True


def remove_tag(thread_id: UUID, tag: str) -> None:
    """Remove a tag from a thread, if the thread has it. Raises ThreadNotFound."""
    with transaction.atomic():
        thread = lock_thread(thread_id)
        if tag in thread.tags:
            save_changes(thread, {"tags": [other for other in thread.tags if other != tag]})


def mark_seen(thread_id: UUID) -> None:
    """Clear a thread's unread count. This does not count as activity."""
    Thread.objects.filter(pk=thread_id, unread_messages_count__gt=0).update(unread_messages_count=0)


def mark_unread(thread_id: UUID) -> None:
    """Count one unread message in a thread that has none. This does not count as activity."""
    Thread.objects.filter(pk=thread_id, unread_messages_count=0).update(unread_messages_count=1)
