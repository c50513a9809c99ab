"""Celery tasks of accounts: send mails, delete what has expired."""

from datetime import timedelta

from celery import shared_task
from django.conf import settings
from django.contrib.sessions.models import Session
from django.utils import timezone

from accounts import idempotency, mailing
from accounts.models import Invitation
from config.models import PeriodicWork

CLEAR_SESSIONS = "clear sessions"
FORGET_ANSWERS = "forget stored answers"
PRUNE_MAILS = "prune mails"


@shared_task(acks_late=True, ignore_result=True)
def send_mail(mail_id: str, claimed_until: str) -> None:
    """Send one mail if the claim is still valid."""
    if settings.SENDING:
        mailing.send(mail_id, claimed_until)
    else:  # published by a worker that still had sending switched on
        mailing.release(mail_id, claimed_until)


@shared_task(acks_late=True, ignore_result=True)
def clear_sessions() -> None:
    """Delete expired sessions, once a day."""
    now = timezone.now()
    Session.objects.filter(expire_date__lt=now).delete()
    PeriodicWork.objects.finish(CLEAR_SESSIONS, next_due=now + timedelta(days=1))


@shared_task(acks_late=True, ignore_result=True)
def forget_answers() -> None:
    """Delete stored answers older than a day, once an hour."""
    idempotency.forget()
    PeriodicWork.objects.finish(FORGET_ANSWERS, next_due=timezone.now() + timedelta(hours=1))


@shared_task(acks_late=True, ignore_result=True)
def prune_mails() -> None:
    """Delete old mails and expired invitations, once a day."""
    mailing.prune()
    now = timezone.now()
    Invitation.objects.filter(created_at__lt=now - Invitation.LIFE).delete()
    PeriodicWork.objects.finish(PRUNE_MAILS, next_due=now + timedelta(days=1))
