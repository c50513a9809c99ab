"""Remind staff about visitors who have waited too long. Return idle conversations to the AI."""

from collections import defaultdict
from collections.abc import Iterable
from datetime import timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone

from accounts.models import Account
from accounts.working_hours import is_working_time
from config.database.locks import left_if_locked
from conversations import notifications
from conversations.access import ThreadNotFound, lock_thread
from conversations.models import Thread
from conversations.services import escalation

BATCH = 1_000  # maximum number of threads per run for each group that `_by_minutes` returns


def remind() -> int:
    """Email staff about visitors who have waited longer than the account allows.

    At most one reminder is sent per wait, and only during the account's working hours. Returns the
    number of reminders.
    """
    now = timezone.now()
    accounts = Account.objects.filter(remind_after_minutes__gt=0).values_list(
        "pk", "remind_after_minutes", "working_hours", "time_zone"
    )
    working = [
        (key, minutes)
        for key, minutes, hours, zone in accounts
        if is_working_time(now, hours, zone)
    ]
    unreminded = Q(reminded_at=None) | Q(reminded_at__lt=F("waiting_since"))
    rows = Thread.objects.waiting().filter(unreminded).order_by("waiting_since")
    return sum(
        _remind(key)
        for minutes, keys in _by_minutes(working)
        for key in rows.filter(
            chatbot__account__in=keys, waiting_since__lte=now - minutes
        ).values_list("pk", flat=True)[:BATCH]
    )


def return_silent() -> int:
    """Return answered conversations to the AI after `return_after_minutes` without activity.

    Each conversation gets the same system message as for any other return to the AI. Returns the
    number of conversations that were returned.
    """
    now = timezone.now()
    accounts = Account.objects.filter(return_after_minutes__gt=0)
    rows = Thread.objects.open().filter(escalated=True, waiting_since=None).order_by("updated_at")
    return sum(
        _return(key, silent_for=minutes)
        for minutes, keys in _by_minutes(accounts.values_list("pk", "return_after_minutes"))
        for key in rows.filter(
            chatbot__account__in=keys, updated_at__lte=now - minutes
        ).values_list("pk", flat=True)[:BATCH]
    )


def _by_minutes(settings: Iterable[tuple[UUID, int | None]]) -> list[tuple[timedelta, list[UUID]]]:
    """Group accounts by the number of minutes that they have chosen for a setting.

    Each group gets its own query, which can exclude all threads that are not due. A single query
    for all accounts could fill its batch with threads that are not due yet, because their accounts
    allow more time.
    """
    groups = defaultdict(list)
    for key, minutes in settings:
        groups[timedelta(minutes=minutes or 0)].append(key)
    return list(groups.items())


def _remind(thread_id: UUID) -> bool:
    with left_if_locked(f"the reminder for thread {thread_id}"), transaction.atomic():
        thread = _locked(thread_id)
        if thread is None or thread.waiting_since is None:
            return False
        if thread.reminded_at and thread.reminded_at >= thread.waiting_since:
            return False
        # Do not use `save_changes`, because it sets `updated_at`, and a reminder is not activity.
        Thread.objects.filter(pk=thread.pk).update(reminded_at=timezone.now())
        notifications.still_waiting(thread)
        return True
    return False


def _return(thread_id: UUID, *, silent_for: timedelta) -> bool:
    with left_if_locked(f"the return of thread {thread_id} to the AI"), transaction.atomic():
        thread = _locked(thread_id)
        if thread is None or not thread.escalated or thread.waiting_since:
            return False
        if thread.updated_at > timezone.now() - silent_for:
            return False
        escalation.set_escalated(thread, escalated=False)
        return True
    return False


def _locked(thread_id: UUID) -> Thread | None:
    """Lock a thread. Returns None if it is not open, or if it or its chatbot was erased."""
    try:
        thread = lock_thread(thread_id)
    except ThreadNotFound:
        return None
    return None if thread.resolved or thread.archived else thread
