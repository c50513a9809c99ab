"""The worker's tasks: ids and a claim in, nothing out, safe to run twice."""

import logging
import threading
import time
from datetime import timedelta
from uuid import UUID

from celery import shared_task
from celery.worker import state as worker_state
from django.conf import settings
from django.utils import timezone

from config.database.connections import release_connection
from config.models import PeriodicWork
from config.outbound.failures import is_shortage
from webhooks import notifications
from webhooks.engine import attempt, claims, liveness, retention, schedule
from webhooks.engine.work import Claimed, Work

PRUNE = "prune deliveries"
TELL_OWNERS = "mail owners of failing webhooks"
ONE_GO = 60.0  # seconds, much less than the lease of periodic work
BREATHER = 0.5  # seconds for other attempts to end and free what this machine is short of

logger = logging.getLogger(__name__)


@shared_task(acks_late=True, ignore_result=True)
def deliver(claim: str, delivery_id: str) -> None:
    """Make one attempt of a delivery, if the claim still holds.

    Specification: Events, Delivery rules.
    """
    claimed = Claimed(UUID(delivery_id), UUID(claim))
    if not settings.SENDING:  # claimed by a worker that was still sending
        claims.release([claimed])
        return
    try:
        if work := schedule.confirm(claimed, worker=liveness.ME):
            _carry_out(work)
    finally:
        release_connection()


@shared_task(acks_late=True, ignore_result=True)
def prune() -> None:
    """Delete old deliveries, once a day; what remains after ONE_GO, a minute later."""
    began, ends = timezone.now(), time.monotonic() + ONE_GO
    again = timedelta(days=1)
    for _ in retention.prune(began - timedelta(days=settings.WEBHOOK_RETENTION_DAYS)):
        if time.monotonic() > ends or worker_is_stopping():
            again = timedelta(minutes=1)
            break
    PeriodicWork.objects.finish(PRUNE, next_due=began + again)


@shared_task(acks_late=True, ignore_result=True)
def tell_owners() -> None:
    """Email owners about webhooks that fail for long or work again, once a minute."""
    # Finish first: if this round dies, the next one finds the endpoints that it has left.
    PeriodicWork.objects.finish(TELL_OWNERS, next_due=timezone.now() + timedelta(minutes=1))
    notifications.tell_owners()


def worker_is_stopping() -> bool:
    """Return whether Celery's worker was asked to stop, by a signal."""
    return worker_state.should_stop is not None or worker_state.should_terminate is not None


def _carry_out(work: Work) -> None:
    try:
        result = attempt.send(work)
    except Exception as error:  # without descriptors, libraries raise any type
        if not is_shortage(error):
            raise
        logger.warning(
            "attempts wait: this machine is short of something (%s)", error, extra={"bounded": True}
        )
        release_connection()
        threading.Event().wait(BREATHER)
        schedule.give_back(work)
    else:
        schedule.settle(work, result)
