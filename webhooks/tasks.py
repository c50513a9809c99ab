"""The worker's tasks: ids and a claim in, nothing out, safe to run twice."""

import logging
import threading
from datetime import timedelta
from uuid import UUID

from celery import shared_task
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
    """Delete old deliveries, once a day."""
    began = timezone.now()
    for _ in retention.prune(began - timedelta(days=settings.WEBHOOK_RETENTION_DAYS)):
        pass
    PeriodicWork.objects.finish(PRUNE, next_due=began + timedelta(days=1))


@shared_task(acks_late=True, ignore_result=True)
def tell_owners() -> None:
    """Email owners about webhooks that fail for long or work again, once a minute."""
    # Finish first: if this round dies, the next one finds the endpoints that it has left.
    PeriodicWork.objects.finish(TELL_OWNERS, next_due=timezone.now() + timedelta(minutes=1))
    notifications.tell_owners()


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
