"""Send mails that wait. A mail is claimed, sent without holding anything, and settled.

What a mail server refuses is tried again with growing delays, then given up; its row says why.
"""

import logging
import smtplib
from datetime import datetime, timedelta

from django.core.mail import EmailMessage
from django.db.models import Q, QuerySet
from django.utils import timezone

from accounts.models import Mail
from config.db import SHORT, release_connection

LEASE = timedelta(seconds=60)
# A mail server may take EMAIL_TIMEOUT a step: to connect, at two addresses, to greet, for TLS, to
# log in, for sender, receiver, body and farewell. That is under twenty steps.
SENDING = timedelta(seconds=300)
DELAYS = (10.0, 60.0, 300.0, 1800.0)  # seconds
REFUSED = (smtplib.SMTPException, OSError)
UNSENDABLE = (ValueError,)  # what Django says of an address or a header that cannot be

logger = logging.getLogger(__name__)


def claim(most: int) -> list[tuple[str, str]]:
    """Claim mails that are due, so that no more than `most` are under way.

    Returns each one's id and claim: the end of its lease, which changes when sending begins.
    """
    now = timezone.now()
    waiting = Mail.objects.filter(due_at__isnull=False)
    free = Q(claimed_until=None) | Q(claimed_until__lt=now)
    due = waiting.filter(free, due_at__lte=now).order_by("due_at", "id")
    keys = list(due.values_list("pk", flat=True)[:most])
    if not keys:
        return []
    room = max(0, most - waiting.filter(claimed_until__gte=now).count())
    until = now + LEASE
    return [
        (str(key), until.isoformat())
        for key in keys[:room]
        if waiting.filter(free, pk=key).update(claimed_until=until)
    ]


def release(mail_id: str, claimed_until: str) -> None:
    """Give a claim back: nobody will begin."""
    _held(mail_id, datetime.fromisoformat(claimed_until)).update(claimed_until=None)


def send(mail_id: str, claimed_until: str) -> None:
    """Send a mail, if its claim still stands; a second message with the same claim does nothing."""
    until = timezone.now() + SENDING
    if not _held(mail_id, datetime.fromisoformat(claimed_until)).update(claimed_until=until):
        return
    mail = Mail.objects.get(pk=mail_id)
    release_connection()
    try:
        EmailMessage(mail.subject, mail.body, to=[mail.to]).send()
    except UNSENDABLE as error:
        _settle(mail, until, error=str(error), delay=None)
    except REFUSED as error:
        delay = DELAYS[mail.tries] if mail.tries < len(DELAYS) else None
        _settle(mail, until, error=f"{type(error).__name__}: {error}", delay=delay)
    else:
        _held(mail_id, until).update(
            state=Mail.State.SENT,
            sent_at=timezone.now(),
            tries=mail.tries + 1,
            due_at=None,
            claimed_until=None,
            error="",
        )


def _held(mail_id: str, until: datetime) -> "QuerySet[Mail]":
    return Mail.objects.filter(pk=mail_id, claimed_until=until, due_at__isnull=False)


def _settle(mail: Mail, until: datetime, *, error: str, delay: float | None) -> None:
    logger.warning("mail %s was not sent: %s", mail.pk, error)
    _held(str(mail.pk), until).update(
        state=Mail.State.FAILED if delay is None else Mail.State.RETRYING,
        due_at=None if delay is None else timezone.now() + timedelta(seconds=delay),
        tries=mail.tries + 1,
        claimed_until=None,
        error=error[:SHORT],
    )
