"""What the worker is asked to do: ids and a claim in, nothing out, safe to be asked twice."""

from concurrent.futures import ThreadPoolExecutor, wait
from datetime import timedelta
from uuid import UUID

from celery import shared_task
from django.conf import settings
from django.utils import timezone

from config.db import release_connection
from config.models import PeriodicWork
from webhooks import notifications
from webhooks.engine import attempt, liveness, retention, schedule
from webhooks.engine.work import Claimed

PRUNE = "prune deliveries"
TELL_OWNERS = "tell owners of webhooks that fail"


_threads = ThreadPoolExecutor(settings.WORKER_CONCURRENCY, thread_name_prefix="attempt")


@shared_task(acks_late=True, ignore_result=True)
def deliver(claim: str, *delivery_ids: str) -> None:
    """Make one attempt of each, where the claim still stands, and all at the same time.

    Specification: Events, Delivery rules.
    """
    mine, *others = [Claimed(UUID(one), UUID(claim)) for one in delivery_ids]
    begun = [_threads.submit(_attempt, one) for one in others]
    try:
        _attempt(mine)
    finally:
        wait(begun)
    for one in begun:
        one.result()


@shared_task(acks_late=True, ignore_result=True)
def prune() -> None:
    """Forget old deliveries, once a day."""
    began = timezone.now()
    for _ in retention.prune(began - timedelta(days=settings.WEBHOOK_RETENTION_DAYS)):
        pass
    PeriodicWork.objects.finish(PRUNE, next_due=began + timedelta(days=1))


@shared_task(acks_late=True, ignore_result=True)
def tell_owners() -> None:
    """Write the mails on webhooks that fail for long or work again, once a minute."""
    # Noted first: if this round dies, the next minute's finds what it has left
    PeriodicWork.objects.finish(TELL_OWNERS, next_due=timezone.now() + timedelta(minutes=1))
    notifications.tell_owners()


def _attempt(claimed: Claimed) -> None:
    try:
        if work := schedule.confirm(claimed, worker=liveness.ME):
            schedule.settle(work, attempt.send(work))
    finally:
        release_connection()  # also before waiting for those beside it
