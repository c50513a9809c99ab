"""What the worker is asked to do: an id and a claim in, nothing out, safe to be asked twice."""

from datetime import timedelta
from uuid import UUID

from celery import shared_task
from django.conf import settings
from django.utils import timezone

from config.models import PeriodicWork
from webhooks import notifications
from webhooks.engine import attempt, liveness, retention, schedule
from webhooks.engine.work import Claimed

PRUNE = "prune deliveries"
TELL_OWNERS = "tell owners of webhooks that fail"


@shared_task(acks_late=True, ignore_result=True)
def deliver(delivery_id: str, claim: str) -> None:
    """Make one attempt, if the claim still stands. Specification: Events, Delivery rules."""
    claimed = Claimed(UUID(delivery_id), UUID(claim))
    if work := schedule.confirm(claimed, worker=liveness.ME):
        schedule.settle(work, attempt.send(work))


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
