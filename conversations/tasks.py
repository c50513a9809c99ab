"""What the worker is asked to do for conversations."""

import time
from datetime import timedelta

from celery import shared_task
from django.utils import timezone

from config.models import PeriodicWork
from conversations.services import erasure

PURGE = "delete what was erased"
PURGED_EVERY = timedelta(seconds=5)
ONE_GO = 60.0  # seconds, much less than the lease of periodic work; what is left is next


@shared_task(acks_late=True, ignore_result=True)
def purge_erased() -> None:
    """Delete what was erased, every few seconds."""
    ends = time.monotonic() + ONE_GO
    for _ in erasure.purge():
        if time.monotonic() > ends:
            break
    PeriodicWork.objects.finish(PURGE, next_due=timezone.now() + PURGED_EVERY)
