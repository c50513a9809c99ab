"""Celery tasks for conversations."""

from contextlib import suppress
from datetime import datetime, timedelta
from uuid import UUID

from celery import shared_task
from django.utils import timezone

from config.database.locks import left_if_locked
from config.models import PeriodicWork
from config.runtime import periodic
from conversations import ledger
from conversations.access import ThreadNotFound
from conversations.models import Message
from conversations.services import activity, ai_reply, erasure, handoff_timeouts, owed_reply
from conversations.services.ai_reply import ClaimLost

PURGE = "delete erased rows"
CHECK_LEDGER = "check the ledger"
COUNT = "count activity"
COUNTED_EVERY = timedelta(minutes=5)
PURGED_EVERY = timedelta(seconds=5)
FOLLOW_UP = "follow up on handoffs"
FOLLOWED_UP_EVERY = timedelta(seconds=30)


@periodic.periodic(PURGE)
def purge_erased() -> datetime:
    """Delete erased rows and their dependents.

    If a run is cut short, the next one deletes the remaining rows.
    """
    periodic.run(erasure.purge())
    return timezone.now() + PURGED_EVERY


@periodic.periodic(CHECK_LEDGER)
def check_ledger() -> datetime:
    """Run the next part of the daily ledger check.

    If the check is not finished, its next part is due one minute after this part began.
    """
    began, ended = timezone.now(), False
    with left_if_locked("the ledger check"):
        ended = ledger.resume(periodic.begin())
    return began + (timedelta(days=1) if ended else timedelta(minutes=1))


@periodic.periodic(FOLLOW_UP)
def follow_up_handoffs() -> datetime:
    """Remind staff of long-waiting visitors, and return idle conversations to the AI."""
    handoff_timeouts.remind()
    handoff_timeouts.return_silent()
    return timezone.now() + FOLLOWED_UP_EVERY


@periodic.periodic(COUNT)
def count_activity() -> datetime:
    """Update the activity counts. If a run is cut short, the next run is due immediately."""
    began = timezone.now()
    due_at = PeriodicWork.objects.values_list("due_at", flat=True).get(name=COUNT)
    ended = periodic.run(activity.count(min(began, due_at) - COUNTED_EVERY))
    return began + COUNTED_EVERY if ended else began


@shared_task
def make_reply(message_id: str, token: str) -> None:
    """Generate an owed reply if the claim is still valid.

    If an error prevents the reply from being stored, the reply stays owed.
    """
    claim = owed_reply.confirm(UUID(message_id), UUID(token))
    # Erased conversations are never sent to a model.
    rows = Message.objects.select_related("thread").filter(
        thread__erased_at=None, thread__chatbot__erased_at=None
    )
    if claim:
        with (
            suppress(ClaimLost, Message.DoesNotExist, ThreadNotFound),
            left_if_locked(f"the reply to message {message_id}"),
        ):
            ai_reply.reply(rows.get(pk=message_id), claim)
