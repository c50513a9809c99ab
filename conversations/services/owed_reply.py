"""Decide which process generates the reply to a visitor's message. Open point: reply-owed.

A reply is owed from the time the visitor's message is stored until the reply is settled. The steps:

    record   the request that stores a message also claims the reply to it
    claim    a worker's scheduler claims replies whose lease has expired
    release  the scheduler releases a claim if it cannot publish the task
    confirm  the worker's task replaces the claim, so that a duplicate of the task does nothing
    take     a repeated request claims the reply if the first request did not finish it
    settle   nothing is owed anymore: the reply or a draft is stored, or no reply is wanted

A process that generates a reply renews its lease until it settles the reply. If the process dies,
the lease expires within seconds. A process that has lost its claim can no longer settle the reply.
"""

from collections import Counter
from datetime import timedelta
from typing import NamedTuple
from uuid import UUID

from django.db import transaction
from django.db.models import F, QuerySet
from django.db.models.functions import Now

from config.database.claims import Renewal, has_expired, lease_end
from config.database.ids import new_id
from config.database.locks import unlocked, update_unlocked
from config.database.prepared import Delete, insert, prepare
from conversations.models import Message, OwedReply

BY_WORKER = "worker"  # `claimed_by` of claims that workers hold
AGAIN_AFTER = timedelta(seconds=1)  # how long to wait between a failure and the retry
# Maximum number of attempts. An attempt counts if its process dies, but not if it is postponed.
# After the last attempt, the bot's fallback message is sent, because the visitor's message may be
# the cause of the failures.
MOST_TRIES = 4


class Claim(NamedTuple):
    """A claim: the right to generate and store one reply."""

    message_id: UUID
    token: UUID
    begun: int  # the number of attempts started, including this one


def record(message: Message) -> Claim:
    """Store a visitor's message together with the reply that is owed to it, and claim the reply."""
    claim = Claim(message.pk, new_id(), 1)
    owed = OwedReply(
        message=message, claim=claim.token, claimed_until=lease_end(), begun=claim.begun
    )
    insert(message, owed)
    return claim


def by_workers() -> "QuerySet[OwedReply]":
    """Select the replies that workers are generating."""
    return OwedReply.objects.filter(claimed_by=BY_WORKER).exclude(has_expired())


def claim(*, most: int) -> list[tuple[UUID, UUID]]:
    """Claim owed replies that no process is generating.

    `most` limits how many replies the workers generate at the same time. The limit for one account
    is half of `most`, but at least 1. Returns each message's id with the token of its claim.
    """
    if not _lapsed().exists():
        return []
    account = "message__thread__chatbot__account"
    making = Counter(by_workers().values_list(account, flat=True))
    share, room = max(1, most // 2), most - making.total()
    full = [one for one, count in making.items() if count >= share]
    # Exclude the replies that this process is still generating. Their leases may have expired,
    # because a lease cannot be renewed while another session has locked its row.
    free = _lapsed().exclude(claim__in=list(renewal.claims))
    waiting = free.exclude(**{f"{account}__in": full}).order_by("claimed_until")
    taken = []
    with transaction.atomic():
        for row in unlocked(waiting.annotate(owner=F(account)))[: max(0, room)]:
            token = new_id()
            if making[row.owner] < share and _lapsed().filter(pk=row.pk, claim=row.claim).update(
                claim=token, claimed_by=BY_WORKER, claimed_until=lease_end()
            ):
                making[row.owner] += 1
                taken.append((row.pk, token))
    return taken


def release(message_id: UUID, token: UUID) -> None:
    """Release a claim whose task has not been published."""
    OwedReply.objects.filter(pk=message_id, claim=token).update(claimed_until=Now())


def confirm(message_id: UUID, token: UUID) -> Claim | None:
    """Confirm a scheduler's claim. Returns None if the claim was lost or already used."""
    return _begin(OwedReply.objects.filter(pk=message_id, claim=token))


def take(message_id: UUID) -> Claim | None:
    """Claim the reply to a message. Returns None if it is not owed or is already claimed."""
    return _begin(_lapsed().filter(pk=message_id), claimed_by="")


def settle(claim: Claim) -> bool:
    """Delete an OwedReply in the caller's transaction. Returns False if the claim was lost."""
    return bool(SETTLE.run(message=claim.message_id, token=claim.token))


def retry_later(claim: Claim) -> None:
    """Release the claim after a failure. The reply is retried when AGAIN_AFTER has passed."""
    _held(claim).update(claimed_until=Now() + AGAIN_AFTER)


def postpone(claim: Claim) -> None:
    """Release the claim without counting the attempt.

    Call this if the failure cannot have been caused by the message.
    """
    _held(claim).update(claimed_until=Now() + AGAIN_AFTER, begun=F("begun") - 1)


def is_owed(message_id: UUID) -> bool:
    """Return whether a message is still waiting for its reply."""
    return OwedReply.objects.filter(pk=message_id).exists()


def _held(claim: Claim) -> QuerySet[OwedReply]:
    return OwedReply.objects.filter(pk=claim.message_id, claim=claim.token)


def settled(*, message: UUID, token: UUID) -> Delete:
    """Delete the reply owed to a message, if the claim with this token still holds it."""
    return Delete(OwedReply.objects.filter(pk=message, claim=token))


SETTLE = prepare(settled)


def _lapsed() -> QuerySet[OwedReply]:
    """Select replies whose lease has expired."""
    return OwedReply.objects.filter(has_expired())


def _begin(rows: QuerySet[OwedReply], **columns: str) -> Claim | None:
    """Claim the row in `rows` with a new token, and count the attempt.

    Returns None if `rows` is empty.
    """
    token = new_id()
    if not rows.update(claim=token, claimed_until=lease_end(), begun=F("begun") + 1, **columns):
        return None
    row = OwedReply.objects.filter(claim=token).first()
    return Claim(row.pk, token, row.begun) if row else None


def _renew(tokens: list[UUID]) -> None:
    # Skip locked rows, because waiting for one of them could let all other leases lapse.
    update_unlocked(OwedReply.objects.filter(claim__in=tokens), claimed_until=lease_end())


renewal = Renewal(_renew)
