"""Celery tasks for conversations."""

import time
from contextlib import suppress
from datetime import timedelta
from uuid import UUID

from celery import shared_task
from django.utils import timezone

from config.api.errors import Unavailable
from config.models import PeriodicWork
from conversations.access import ThreadNotFound
from conversations.models import Message
from conversations.services import ai_reply, erasure, owed_reply
from conversations.services.ai_reply import ClaimLost

PURGE = "delete erased rows"
PURGED_EVERY = timedelta(seconds=5)
ONE_GO = 60.0  # seconds, much less than the lease of periodic work; the next run continues


@shared_task(acks_late=True, ignore_result=True)
def purge_erased() -> None:
    """Delete the rows below erased ones, for at most ONE_GO seconds per run."""
    ends = time.monotonic() + ONE_GO
    for _ in erasure.purge():
        if time.monotonic() > ends:
            break
    PeriodicWork.objects.finish(PURGE, next_due=timezone.now() + PURGED_EVERY)


@shared_task(acks_late=True, ignore_result=True)
def make_reply(message_id: str, token: str) -> None:
    """Make an owed reply if the claim is still valid. A reply that fails stays owed."""
    claim = owed_reply.confirm(UUID(message_id), UUID(token))
    # Erased conversations are never sent to a model.
    rows = Message.objects.select_related("thread").filter(
        thread__erased_at=None, thread__chatbot__erased_at=None
    )
    if claim:
        with suppress(ClaimLost, Message.DoesNotExist, ThreadNotFound, Unavailable):
            ai_reply.reply(rows.get(pk=message_id), claim)
