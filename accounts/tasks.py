"""Celery tasks for accounts: send emails and delete expired rows.

A deletion that runs out of time is resumed about a minute later.
"""

import logging
from datetime import datetime, timedelta
from itertools import chain

from celery import shared_task
from django.conf import settings
from django.contrib.sessions.models import Session
from django.db import Error
from django.utils import timezone

from accounts import idempotency, mail_queue
from accounts.models import Invitation
from accounts.services import change
from config.database.availability import unavailable
from config.database.locks import delete_unlocked
from config.runtime import periodic

CLEAR_SESSIONS = "clear sessions"
FORGET_ANSWERS = "forget stored answers"
PRUNE_MAILS = "prune mails"
PRUNE_CHANGES = "prune the audit trail"

logger = logging.getLogger(__name__)


@shared_task
def send_mail(mail_id: str, claim: str) -> None:
    """Send an email if its claim is still valid. If sending is off, release the claim."""
    try:
        if settings.SENDING:
            mail_queue.send(mail_id, claim)
        else:  # the task was published before sending was turned off
            mail_queue.release(mail_id, claim)
    except Error as error:  # the claim expires, and the email is claimed again
        if not unavailable(error):
            raise
        logger.warning("email %s failed: %s", mail_id, error)


@periodic.periodic(CLEAR_SESSIONS)
def clear_sessions() -> datetime:
    """Delete expired sessions. Runs once a day."""
    began = timezone.now()
    old = Session.objects.filter(expire_date__lt=began)
    ended = periodic.run(delete_unlocked(old.order_by("expire_date")))
    return began + (timedelta(days=1) if ended else timedelta(minutes=1))


@periodic.periodic(FORGET_ANSWERS)
def forget_answers() -> datetime:
    """Delete stored responses that are older than a day. Runs once an hour."""
    ended = periodic.run(idempotency.forget())
    return timezone.now() + (timedelta(hours=1) if ended else timedelta(minutes=1))


@periodic.periodic(PRUNE_MAILS)
def prune_mails() -> datetime:
    """Delete old emails and expired invitations. Runs once a day."""
    began = timezone.now()
    expired = Invitation.objects.filter(updated_at__lt=began - Invitation.LIFE)
    ended = periodic.run(chain(mail_queue.prune(), delete_unlocked(expired.order_by("pk"))))
    return began + (timedelta(days=1) if ended else timedelta(minutes=1))


@periodic.periodic(PRUNE_CHANGES)
def prune_changes() -> datetime:
    """Delete old audit trail entries. Runs once a day."""
    began = timezone.now()
    ended = periodic.run(change.prune(began - timedelta(days=settings.AUDIT_RETENTION_DAYS)))
    return began + (timedelta(days=1) if ended else timedelta(minutes=1))
