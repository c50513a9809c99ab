"""Threads. Specification: Endpoints, Threads and messages."""

from typing import Any
from uuid import UUID

from django.db import transaction

from chatbots.viewsets.base import ChatbotViewSet
from config.api.operation import operation
from config.api.pagination import PageQuery, figures
from conversations.access import ThreadNotFound, thread_count, thread_key, thread_of
from conversations.models import Thread
from conversations.models.thread import ThreadQuerySet
from conversations.serializers.thread import (
    OneThread,
    OneThreadDetails,
    ThreadChanges,
    ThreadDetails,
    ThreadInput,
    ThreadPage,
    ThreadRecord,
    Toggled,
)
from conversations.services import escalation, threads


def page(limit: int, offset: int, *, chatbot: UUID) -> ThreadQuerySet:
    """Select a page of a chatbot's threads, latest activity first."""
    return Thread.objects.filter(chatbot=chatbot).of_page(limit, offset).with_llm()


def one(*, chatbot: UUID, thread: UUID) -> ThreadQuerySet:
    """Select a thread of a chatbot."""
    return thread_of(chatbot=chatbot, thread=thread).with_llm()


class ThreadViewSet(ChatbotViewSet):
    """Create, read, list, change and escalate threads."""

    model = Thread
    part = "Threads"
    needs_active = frozenset({"create"})

    def written(self, thread: Thread) -> dict[str, Any]:
        """Return the record of a thread that this request has just stored."""
        [record] = ThreadRecord.find(one, thread=thread.pk, **self.scope())
        return record

    @operation(
        body=ThreadInput,
        answer=OneThread,
        open_points=("thread-create", "visitor", "thread-fields", "chatbot-active", "lead-capture"),
    )
    def create(self, given: dict[str, Any]) -> dict[str, Any]:
        """Start a conversation."""
        with transaction.atomic():  # other requests cannot change the row before it is read back
            thread = threads.create(self.chatbot.pk, given)
            self.thread_id = thread.pk
            return {"thread": self.written(thread)}

    @operation(query=PageQuery, answer=ThreadPage, open_points=("thread-list",))
    def list(self, query: dict[str, int]) -> dict[str, Any]:
        """List the chatbot's threads, latest activity first."""
        total, limit = thread_count(self.chatbot.pk), query["limit"]
        offset = (query["page"] - 1) * limit
        found = ThreadRecord.find(page, limit, offset, **self.scope()) if offset < total else []
        return {"threads": found, "pagination": figures(query, total)}

    @operation(answer=OneThreadDetails, open_points=("webhook-token", "thread-fields"))
    def retrieve(self, thread_id: str) -> dict[str, Any]:
        """Read a thread with its visitor's details."""
        found = ThreadDetails.find(thread_of, thread=thread_key(thread_id), **self.scope())
        if not found:
            raise ThreadNotFound
        return {"thread": found[0]}

    @operation(body=ThreadChanges, answer=OneThread, open_points=("thread-update", "lead-capture"))
    def update(self, changes: dict[str, Any]) -> dict[str, Any]:
        """Change a thread and its visitor.

        Omitted fields keep their values.
        """
        thread_id = thread_key(changes.pop("thread_id"))
        with transaction.atomic():  # other requests cannot change the row before it is read back
            thread = threads.update(thread_id, changes, chatbot_id=self.chatbot.pk)
            return {"thread": self.written(thread)}

    @operation(
        answer=Toggled,
        open_points=("escalate-verb", "escalated-event", "system-type", "system-locale"),
    )
    def escalate(self, thread_id: str) -> dict[str, Any]:
        """Hand a conversation over to a human agent, or back to the AI."""
        with transaction.atomic():  # other requests cannot change the row before it is read back
            thread, message = escalation.toggle(thread_key(thread_id), chatbot_id=self.chatbot.pk)
            self.thread_id = thread.pk
            return {"thread": self.written(thread), "system_message": message}
