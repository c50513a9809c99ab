"""Store emails on behalf of accounts, and limit their number. The worker sends the emails."""

import logging
from collections.abc import Iterable
from datetime import timedelta
from uuid import UUID

from django.utils import timezone

from accounts.models import Account, Invitation, Mail, User
from config.database.lengths import SHORT

MAILS_PER_HOUR = 100  # per account; emails may contain text from visitors, so this limits spam

logger = logging.getLogger(__name__)


def one_line(text: str) -> str:
    """Replace line breaks and control characters with spaces, for use in a header."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def room(account: Account) -> int:
    """Return how many more emails an account may store without exceeding its hourly limit."""
    hour = Mail.objects.filter(account=account, created_at__gt=timezone.now() - timedelta(hours=1))
    return MAILS_PER_HOUR - hour.order_by()[:MAILS_PER_HOUR].count()


def write(
    account: Account,
    recipients: Iterable[str],
    *,
    subject: str,
    body: str,
    invitation: Invitation | None = None,
    thread_id: UUID | None = None,
) -> None:
    """Store one email for each distinct recipient, inside the caller's transaction.

    Recipients that differ only in letter case count as one. An email about a conversation stores
    the id of the thread, so that the email is deleted with the thread. Emails beyond MAILS_PER_HOUR
    are dropped. Concurrent transactions do not see each other's emails, so together they may exceed
    the limit.
    """
    unique: dict[str, str] = {}
    for email in recipients:
        unique.setdefault(email.lower(), email)
    left = room(account)
    if len(unique) >= left > 0:
        logger.warning(
            "account %s has reached its limit of %s emails an hour: further emails are dropped",
            account.pk,
            MAILS_PER_HOUR,
        )
    Mail.objects.bulk_create(
        Mail(
            account=account,
            to=email,
            subject=one_line(subject)[:SHORT],
            body=body,
            invitation=invitation,
            thread_id=thread_id,
        )
        for email in list(unique.values())[:left]
    )


def tell_owner(account: Account, *, subject: str, body: str) -> None:
    """Store an email to the owner of an account, inside the caller's transaction."""
    write(account, [account.owner.email], subject=subject, body=body)


def quota_used(account: Account, *, percent: int, quota: int) -> None:
    """Store an email to the owner about the month's usage, inside the caller's transaction."""
    consequence = (
        "Further messages are refused until the first of next month (UTC)."
        if percent >= 100
        else "At 100%, further messages are refused until the first of next month (UTC)."
    )
    tell_owner(
        account,
        subject=f"{account.name}: {percent}% of this month's messages used",
        body=(
            f"The account {account.name} has used {percent}% of this month's {quota:,} messages "
            f"(plan {account.plan}).\n\n{consequence}\n"
        ),
    )


def password_reset(person: User) -> None:
    """Store the email with which a person sets a new password. It counts toward no account's limit.

    The link is added when the email is sent and is never stored.
    """
    Mail.objects.create(
        person=person,
        to=person.email,
        subject="Set a new password",
        body=(
            f"Somebody has asked for a link that sets a new password for {person.email}.\n"
            "The link works once, within an hour after this email was sent. "
            "If it was not you, ignore this email."
        ),
    )


def invited(invitation: Invitation) -> None:
    """Store the email that invites a person to an account, inside the caller's transaction.

    The link is added when the email is sent and is never stored.
    """
    name = invitation.account.name
    write(
        invitation.account,
        [invitation.email],
        subject=f"Invitation to {name}",
        body=(
            f"You have been invited to join the account {name} as {invitation.role}.\n"
            f"The invitation is valid until {invitation.expires_at:%Y-%m-%d %H:%M} UTC. "
            "If you do not want to join, ignore this email."
        ),
        invitation=invitation,
    )
