"""Celery tasks for accounts: send emails and delete expired rows.

A deletion that runs out of time is resumed about a minute later.
"""

from datetime import timedelta
from itertools import chain

from celery import shared_task
from django.conf import settings
from django.contrib.sessions.models import Session
from django.utils import timezone

from accounts import idempotency, mail_queue
from accounts.models import Invitation
from accounts.services import change
from config.database.locks import delete_unlocked
from config.models import PeriodicWork
from config.runtime import time_budget

CLEAR_SESSIONS = "clear sessions"
FORGET_ANSWERS = "forget stored answers"
PRUNE_MAILS = "prune mails"
PRUNE_CHANGES = "prune the audit trail"


@shared_task(acks_late=True, ignore_result=True)
def send_mail(mail_id: str, claim: str) -> None:
    """Send an email if its claim is still valid. If sending is off, releases the claim."""
    if settings.SENDING:
        mail_queue.send(mail_id, claim)
    else:  # only queued tasks get here, because workers claim no emails while sending is off
        mail_queue.release(mail_id, claim)


@shared_task(acks_late=True, ignore_result=True)
def clear_sessions(claim: str) -> None:
    """Delete expired sessions. Runs once a day."""
    began = timezone.now()
    old = Session.objects.filter(expire_date__lt=began)
    ended = time_budget.run(delete_unlocked(old.order_by("expire_date")))
    again = timedelta(days=1) if ended else timedelta(minutes=1)
    PeriodicWork.objects.finish(CLEAR_SESSIONS, claim, next_due=began + again)


@shared_task(acks_late=True, ignore_result=True)
def forget_answers(claim: str) -> None:
    """Delete stored responses that are older than a day. Runs once an hour."""
    ended = time_budget.run(idempotency.forget())
    again = timedelta(hours=1) if ended else timedelta(minutes=1)
    PeriodicWork.objects.finish(FORGET_ANSWERS, claim, next_due=timezone.now() + again)


@shared_task(acks_late=True, ignore_result=True)
def prune_mails(claim: str) -> None:
    """Delete old emails and expired invitations. Runs once a day."""
    began = timezone.now()
    expired = Invitation.objects.filter(created_at__lt=began - Invitation.LIFE)
    ended = time_budget.run(chain(mail_queue.prune(), delete_unlocked(expired.order_by("pk"))))
    again = timedelta(days=1) if ended else timedelta(minutes=1)
    PeriodicWork.objects.finish(PRUNE_MAILS, claim, next_due=began + again)


@shared_task(acks_late=True, ignore_result=True)
def prune_changes(claim: str) -> None:
    """Delete old audit trail entries. Runs once a day."""
    began = timezone.now()
    ended = time_budget.run(change.prune(began - timedelta(days=settings.AUDIT_RETENTION_DAYS)))
    again = timedelta(days=1) if ended else timedelta(minutes=1)
    PeriodicWork.objects.finish(PRUNE_CHANGES, claim, next_due=began + again)
