"""Threads. Specification: Endpoints, Threads and messages."""

from functools import partial
from typing import Any

from django.db.models import UUIDField

from chatbots.access import ChatbotNotFound
from chatbots.viewsets.base import ChatbotViewSet
from config.api.operation import operation
from config.api.pagination import PageQuery, figures
from config.api.serializers import Reading
from config.database.prepared import Given, page
from conversations.access import ThreadNotFound, overview, thread_key
from conversations.models import Thread
from conversations.models.thread import ThreadQuerySet
from conversations.serializers.thread import (
    OneThread,
    OneThreadDetails,
    OwnRecord,
    SharedRecord,
    ThreadChanges,
    ThreadDetails,
    ThreadInput,
    ThreadPage,
    Toggled,
)
from conversations.services import escalation, threads

THREAD = Given("thread", UUIDField())
DETAILS = Reading(ThreadDetails, lambda threads: threads.filter(pk=THREAD))
# PAGE with an offset of 0 would read the same rows, but PostgreSQL plans FIRST_PAGE faster.
FIRST_PAGE = Reading(OwnRecord, lambda threads: page(threads.latest_first()))
PAGE = Reading(OwnRecord, ThreadQuerySet.of_page)
PAGE_FROM_END = Reading(OwnRecord, partial(ThreadQuerySet.of_page, backwards=True))


class ThreadViewSet(ChatbotViewSet):
    """Create, read, list, change and escalate threads."""

    model = Thread
    part = "Threads"
    needs_active = frozenset({"create"})

    def record(self, thread: Thread) -> dict[str, Any]:
        """Return the record of a thread that this request has just stored. Raises ChatbotNotFound.

        The thread is not read again, because another request may have changed it since the commit.
        """
        _, shared = overview(self.chatbot.pk, SharedRecord.paths())
        if not shared:
            raise ChatbotNotFound
        [part] = SharedRecord.records([shared])
        return {**OwnRecord.write(thread), **part}

    @operation(
        body=ThreadInput,
        answer=OneThread,
        open_points=("thread-create", "visitor", "thread-fields", "chatbot-active", "lead-capture"),
    )
    def create(self, given: dict[str, Any]) -> dict[str, Any]:
        """Start a conversation."""
        thread = threads.create(self.chatbot.pk, given)
        self.thread_id = thread.pk
        return {"thread": self.record(thread)}

    @operation(query=PageQuery, answer=ThreadPage, open_points=("thread-list",))
    def list(self, query: dict[str, int]) -> dict[str, Any]:
        """List the chatbot's threads, latest activity first."""
        total, shared = overview(self.chatbot.pk, SharedRecord.paths())
        limit, offset = query["limit"], (query["page"] - 1) * query["limit"]
        after = total - offset  # number of threads on this page and all later pages
        if after <= 0:
            found = []
        elif after < offset:  # reading from the end skips fewer threads
            own = min(limit, after)
            found = self.read(PAGE_FROM_END, limit=own, offset=after - own)
        else:
            found = self.read(PAGE if offset else FIRST_PAGE, limit=limit, offset=offset)
        [part] = SharedRecord.records([shared]) if found else [{}]
        return {
            "threads": [record | part for record in found],
            "pagination": figures(query, total),
        }

    @operation(answer=OneThreadDetails, open_points=("webhook-token", "thread-fields"))
    def retrieve(self, thread_id: str) -> dict[str, Any]:
        """Read a thread with its visitor's details."""
        found = self.read(DETAILS, thread=thread_key(thread_id))
        if not found:
            raise ThreadNotFound
        return {"thread": found[0]}

    @operation(body=ThreadChanges, answer=OneThread, open_points=("thread-update", "lead-capture"))
    def update(self, changes: dict[str, Any]) -> dict[str, Any]:
        """Change a thread and its visitor.

        Omitted fields keep their values.
        """
        thread_id = thread_key(changes.pop("thread_id"))
        thread = threads.update(thread_id, changes, chatbot_id=self.chatbot.pk)
        return {"thread": self.record(thread)}

    @operation(
        answer=Toggled,
        open_points=("escalate-verb", "escalated-event", "system-type", "system-locale"),
    )
    def escalate(self, thread_id: str) -> dict[str, Any]:
        """Hand a conversation over to a human agent, or back to the AI."""
        thread, message = escalation.toggle(thread_key(thread_id), chatbot_id=self.chatbot.pk)
        self.thread_id = thread.pk
        return {"thread": self.record(thread), "system_message": message}
