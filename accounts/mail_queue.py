"""Send due emails. Each email is claimed, sent outside any transaction, and settled.

Settling an email stores the result of the attempt and releases the claim. If the mail server
refuses an email temporarily or cannot be reached, the email is retried after increasing delays. If
the last retry fails, the email's state becomes "failed". An email that cannot be built, or that the
server refuses permanently, fails immediately. The email's row stores the reason.
"""

import logging
import smtplib
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

from django.core.mail import EmailMessage
from django.db import transaction
from django.db.models import BooleanField, ExpressionWrapper, F, Q, QuerySet
from django.utils import timezone

from accounts.models import Mail
from config.database.claims import (
    NO_CLAIM,
    SETTLED_WITHIN,
    has_expired,
    lease_end,
    renewal_of,
)
from config.database.connections import release_connection
from config.database.lengths import SHORT
from config.database.locks import delete_unlocked, insist, unlocked_keys
from config.metrics import Counter

DELAYS = (10.0, 60.0, 300.0, 1800.0)  # seconds before each retry
MOST_TRIES = len(DELAYS) + 1
REFUSED = (smtplib.SMTPException, OSError)
KEPT = timedelta(days=30)  # how long sent and failed emails are kept

ENDED = Counter("chatbots_mails_ended", "Emails that were sent or have failed, by state", ["state"])
FINAL = (Mail.State.SENT, Mail.State.FAILED)
for known in FINAL:
    ENDED.labels(known)  # starts at 0, so that rate() counts the first event

renewal = renewal_of(Mail)
logger = logging.getLogger(__name__)


class Unsendable(Exception):
    """Raised for an email that cannot be built. Another attempt would fail in the same way."""


def claim(most: int) -> list[tuple[str, str]]:
    """Claim the emails that have been due longest. At most `most` are in flight at a time.

    Emails that belong to no account come first: somebody is waiting for them, and they are few.
    Returns each email's id and claim token. `send` replaces the token.
    """
    token = uuid4()
    waiting = Mail.objects.filter(due_at__isnull=False)
    free = Q(claimed_until=None) | has_expired()
    # A lease cannot be renewed while another session has locked its row, so exclude the emails that
    # this process is still sending.
    sending = [token for _, token in list(renewal.claims)]
    due = waiting.filter(free, due_at__lte=timezone.now()).exclude(claim__in=sending)
    if not due.exists():
        return []
    with transaction.atomic():
        in_flight = waiting.filter(claim__isnull=False).exclude(has_expired()).count()
        personal = ExpressionWrapper(Q(account=None), BooleanField())
        next_first = due.order_by(personal.desc(), "due_at", "id")
        keys = unlocked_keys(next_first[: max(0, most - in_flight)])
        Mail.objects.filter(pk__in=keys).update(claim=token, claimed_until=lease_end())
    return [(str(key), str(token)) for key in keys]


def release(mail_id: str, claim: str) -> None:
    """Release a claim that no worker will use."""
    _held(mail_id, UUID(claim)).update(**NO_CLAIM)


def send(mail_id: str, claim: str) -> None:
    """Send an email if its claim is still valid. A second task with the same claim does nothing.

    The attempt is counted before it starts, so an email that crashes the process is attempted at
    most MOST_TRIES times.
    """
    token = uuid4()
    columns = {"claim": token, "claimed_until": lease_end(), "tries": F("tries") + 1}
    if _held(mail_id, UUID(claim)).update(**columns):
        with renewal.of((UUID(mail_id), token)):
            _send(mail_id, token)


def _send(mail_id: str, token: UUID) -> None:
    mail = Mail.objects.select_related("invitation", "person").filter(pk=mail_id).first()
    if mail is None:  # deleted in the meantime, for example with its invitation or thread
        return
    if mail.tries > MOST_TRIES:
        _fail(mail, token, error="the process ended during the last attempt", delay=None)
        return
    release_connection()
    try:
        build(mail).send()
    except Unsendable as error:
        _fail(mail, token, error=str(error), delay=None)
    except REFUSED as error:
        given_up = refused_for_good(error) or mail.tries == MOST_TRIES
        delay = None if given_up else DELAYS[mail.tries - 1]
        _fail(mail, token, error=f"{type(error).__name__}: {error}", delay=delay)
    else:
        _settle(mail, token, state=Mail.State.SENT, sent_at=timezone.now(), due_at=None, error="")


def build(mail: Mail) -> EmailMessage:
    """Build an email with its headers.

    Raises Unsendable if the email cannot be built.

    The recipient and subject must be printable. Python breaks a header at every character that
    `str.splitlines` treats as a line break. Text after some of these characters would become a new
    header.
    """
    if not (mail.to + mail.subject).isprintable():
        raise Unsendable("recipient and subject must be one line of printable characters")
    if mail.person and mail.person.email != mail.to:
        raise Unsendable("the person's address has changed")  # the link is only for its owner
    message = EmailMessage(mail.subject, mail.text, to=[mail.to])
    try:
        message.message().as_bytes()
    except Exception as error:  # another attempt would fail too
        raise Unsendable(f"{type(error).__name__}: {error}") from error
    return message


def refused_for_good(error: Exception) -> bool:
    """Return whether the mail server refused this email with a permanent code (5xx)."""
    match error:
        case smtplib.SMTPRecipientsRefused():
            codes = [code for code, _ in error.recipients.values()]
        case smtplib.SMTPSenderRefused() | smtplib.SMTPDataError():
            codes = [error.smtp_code]
        case _:
            return False
    return all(500 <= code < 600 for code in codes)


def prune() -> Iterator[int]:
    """Delete sent and failed emails that are older than KEPT. Yields the size of each batch."""
    done = Mail.objects.filter(due_at=None, created_at__lt=timezone.now() - KEPT)
    return delete_unlocked(done.order_by("pk"))


def _held(mail_id: str | UUID, claim: UUID) -> "QuerySet[Mail]":
    """Select an email if it is still due and its claim has not been replaced."""
    return Mail.objects.filter(pk=mail_id, claim=claim, due_at__isnull=False)


def _fail(mail: Mail, claim: UUID, *, error: str, delay: float | None) -> None:
    """Record a failed attempt.

    The next attempt is due after `delay` seconds, or never if `delay` is None. Only the text
    before the first colon (the kind of error) is logged, because the rest may contain an email
    address.
    """
    logger.warning("email %s was not sent: %s", mail.pk, error.partition(":")[0])
    _settle(
        mail,
        claim,
        state=Mail.State.FAILED if delay is None else Mail.State.RETRYING,
        due_at=None if delay is None else timezone.now() + timedelta(seconds=delay),
        error=error[:SHORT],
    )


def _settle(mail: Mail, claim: UUID, **columns: Any) -> None:
    """Store the result of an attempt and release the claim.

    Counts the email if it was sent or has failed. The write is retried for SETTLED_WITHIN
    seconds. Does nothing if the claim has been replaced.
    """
    held = _held(mail.pk, claim)
    settled = insist(
        lambda: held.update(**columns, **NO_CLAIM), within=SETTLED_WITHIN, what=f"email {mail.pk}"
    )
    if settled and columns.get("state") in FINAL:
        ENDED.labels(columns["state"]).inc()
