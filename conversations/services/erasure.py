"""Erase conversations, visitors and leads, and delete erased rows with their dependents.

Erasing hides a conversation or a visitor in one short transaction. A worker later deletes the
dependent rows in batches, so no transaction lasts long, however many rows there are. Deliveries
stay in the log, but without their content. The optional `entry`, a row for the admin's log,
is stored in the transaction that hides or deletes the erased row.
"""

import time
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID

from auditlog.context import disable_auditlog
from django.db import transaction
from django.db.models import F, Model, QuerySet
from django.db.models.functions import Greatest
from django.utils import timezone

from accounts.models import Mail, StoredAnswer
from chatbots.models import Chatbot
from chatbots.models.erasable import ErasableRow, erased, replacement
from config.database.locks import left_if_locked, unlocked_keys
from conversations.access import ThreadNotFound, lock_thread
from conversations.models import Lead, Message, OwedReply, Thread, ThreadCount, Visitor
from conversations.services import activity
from webhooks.models import Delivery, Endpoint
from webhooks.payloads import Event
from webhooks.services import erasure as deliveries

BATCH = 1_000  # maximum number of messages or visitors deleted per batch
TOGETHER = 100  # maximum number of conversations deleted per batch
PAUSE = 0.02  # seconds to pause between batches, so that other writers can proceed
AGAIN = timedelta(days=1)  # time until the next attempt if the log still has deliveries
# The events that contain a lead's contact information
OF_LEADS = (Event.NEW_LEAD.value, Event.CONVERSATION_ESCALATED.value)


def erase_thread(thread_id: UUID, *, entry: Model | None = None) -> bool:
    """Hide a conversation permanently. Delete its lead, emails, stored responses and owed replies.

    Its waiting deliveries lose their content, so they are not sent. Returns False if it is
    already erased.
    """
    with transaction.atomic():
        try:
            thread = lock_thread(thread_id)
        except ThreadNotFound:
            return False
        _hide(Thread.objects.filter(pk=thread_id))
        Visitor.objects.filter(pk=thread.visitor_id).update(
            total_sessions=Greatest(F("total_sessions") - 1, 0),
            total_messages=Greatest(F("total_messages") - thread.visitor_messages_count, 0),
        )
        if entry:
            entry.save()
    _erase_unsent([thread_id])
    return True


def erase_visitor(visitor_id: UUID, *, entry: Model | None = None) -> bool:
    """Hide a visitor and all of their conversations permanently, in one transaction.

    Returns False if the visitor is already erased.
    """
    with transaction.atomic():
        threads = Thread.objects.filter(visitor=visitor_id)
        # Threads are locked before the visitor, in the same order as when a message is stored.
        list(threads.order_by("pk").select_for_update().values_list("pk"))
        visitor = Visitor.objects.select_for_update().filter(pk=visitor_id).first()
        if visitor is None:
            return False
        keys = _keys(threads)
        _hide(threads)
        # Free the visitor's id, so that API callers can use it for another visitor.
        contact = {"external_id": replacement(), "name": "", "email": "", "phone": ""}
        Visitor.objects.filter(pk=visitor_id).update(**contact, **erased())
        if entry:
            entry.save()
    _erase_unsent(keys)
    return True


def erase_lead(lead: Lead, *, entry: Model | None = None) -> bool:
    """Delete a lead, and erase the content of the events that contain its contact information.

    All emails about the conversation are deleted. The conversation and the visitor are kept.
    Returns False if the lead is already deleted.
    """
    events = Delivery.objects.filter(thread_id=lead.thread_id, event__in=OF_LEADS)
    for _ in deliveries.erase(events):
        pass
    with transaction.atomic():
        Mail.objects.filter(thread_id=lead.thread_id).delete()
        activity.mark_stale([lead.pk])
        deleted, _ = lead.delete()
        if deleted and entry:
            entry.save()
    return bool(deleted)


def purge() -> Iterator[None]:
    """Delete erased rows and the rows that depend on them. Yields after each batch.

    Pauses between batches to let other writers proceed. The purge can safely be stopped at any
    point, and several processes can run it at the same time.
    """
    for step in _purge():
        yield step
        time.sleep(PAUSE)


def _hide(threads: "QuerySet[Thread]") -> None:
    """Hide threads, and delete the rows that must not outlive them, in the caller's transaction."""
    leads = Lead.objects.filter(thread__in=threads.values("pk"))
    activity.mark_stale(_keys(leads))
    leads.delete()
    OwedReply.objects.filter(message__thread__in=threads.values("pk")).delete()
    Mail.objects.filter(thread_id__in=threads.values("pk")).delete()
    StoredAnswer.objects.filter(thread_id__in=threads.values("pk")).delete()
    hidden = Counter(threads.values_list("chatbot", flat=True))
    threads.update(**erased())
    for chatbot, number in hidden.items():
        ThreadCount.objects.filter(chatbot=chatbot).update(threads=F("threads") - number)


def _erase_unsent(threads: list[UUID]) -> None:
    """Erase the threads' waiting deliveries now, so that no worker sends them later."""
    for _ in deliveries.erase(Delivery.objects.filter(thread_id__in=threads, due_at__isnull=False)):
        pass


def _purge() -> Iterator[None]:
    with left_if_locked("the deletion of erased threads"):
        yield from _delete_threads(_due(Thread))
    for visitor in _keys(_due(Visitor)):
        with left_if_locked(f"the deletion of visitor {visitor}"):
            threads = Thread.everything.filter(visitor=visitor)
            yield from _delete_threads(threads)
            # If a locked thread was skipped, keep the visitor, because a cascade would delete the
            # thread without erasing its deliveries.
            if not threads.exists():
                Visitor.everything.filter(pk=visitor).delete()
        yield
    for chatbot in _keys(_due(Chatbot)):
        with left_if_locked(f"the deletion of chatbot {chatbot}"):
            yield from _delete_chatbot(chatbot)


def _due(model: type[ErasableRow]) -> "QuerySet[Any]":
    return model.everything.filter(purge_at__lte=timezone.now()).order_by("purge_at")


def _keys(rows: "QuerySet[Any]") -> list[UUID]:
    return list(rows.values_list("pk", flat=True))


def _free_keys(rows: "QuerySet[Any]") -> list[UUID]:
    with transaction.atomic():
        return unlocked_keys(rows)


def _delete_threads(threads: "QuerySet[Any]") -> Iterator[None]:
    """Delete threads in batches: first the rows that depend on them, then the threads.

    Locked threads are skipped.
    """
    while keys := _free_keys(threads[:TOGETHER]):
        for _ in deliveries.erase(Delivery.objects.filter(thread_id__in=keys)):
            yield
        # Delete the newest messages first, so that each reply is deleted before, or together with,
        # the message that it answers.
        messages = Message.objects.filter(thread__in=keys).order_by("-thread", "-position")
        while some := _keys(messages[:BATCH]):
            # Mark the hours first, because no later run can find the hours of deleted messages.
            activity.mark_stale(some)
            Message.objects.filter(pk__in=some).only("pk").delete()
            yield
        Mail.objects.filter(thread_id__in=keys).delete()
        StoredAnswer.objects.filter(thread_id__in=keys).delete()
        _delete_empty(Thread.everything.filter(pk__in=keys))
        yield


def _delete_empty(threads: "QuerySet[Any]") -> None:
    """Delete threads whose dependent rows are gone, and keep the thread count correct."""
    with transaction.atomic():
        rows = threads.filter(erased_at__isnull=False).order_by("pk").select_for_update()
        # These threads were subtracted from the count when they were hidden. Add them back first,
        # because a trigger subtracts every deleted thread.
        for chatbot, number in Counter(rows.values_list("chatbot", flat=True)).items():
            ThreadCount.objects.filter(chatbot=chatbot).update(threads=F("threads") + number)
        threads.delete()


def _delete_chatbot(chatbot_id: UUID) -> Iterator[None]:
    """Delete a chatbot and everything that depends on it, in batches.

    If one of its threads is locked or the log still contains its deliveries, the chatbot's row is
    kept, and a later run tries again.
    """
    # Delete the endpoint first, so that pending deliveries are no longer sent.
    with disable_auditlog():  # the audit trail recorded the deletion when the chatbot was hidden
        Endpoint.objects.filter(chatbot=chatbot_id).delete()
    threads = Thread.everything.filter(chatbot=chatbot_id)
    yield from _delete_threads(threads)
    if threads.exists():
        return
    visitors = Visitor.everything.filter(chatbot=chatbot_id)
    while keys := _keys(visitors[:BATCH]):
        Visitor.everything.filter(pk__in=keys).delete()
        yield
    log = Delivery.objects.filter(chatbot=chatbot_id)
    for _ in deliveries.erase(log):
        yield
    with disable_auditlog():
        if not log.exists():
            Chatbot.everything.filter(pk=chatbot_id).delete()
            return
        for relation in Chatbot._meta.related_objects:
            if relation.related_model is not Delivery:
                rows = relation.related_model._base_manager
                rows.filter(**{relation.field.name: chatbot_id}).delete()
    Chatbot.everything.filter(pk=chatbot_id).update(purge_at=timezone.now() + AGAIN)
