"""Who makes the reply to a visitor's message. Open point: reply-owed.

    record   a send stores its message, and claims the reply that it is about to make
    claim    a worker's dispatcher takes replies whose lease has ended
    confirm  the task begins: it changes the claim, so that a second message finds nothing
    take     a request that was sent again continues where the first one ended
    settle   the reply, or whatever takes its place, is being stored: nothing is owed any more

A process that makes a reply renews its lease until it has settled. When the process dies, the lease
ends within seconds. A process that lost its claim settles nothing.
"""

from collections import Counter
from datetime import timedelta
from typing import NamedTuple
from uuid import UUID

from django.db.models import F, Q, QuerySet
from django.db.models.functions import Now

from config.database.ids import new_id
from config.runtime.renewal import Renewal
from conversations.models import Message, OwedReply

LEASE = timedelta(seconds=6)
RENEWED_EVERY = 1.5  # seconds
AGAIN_AFTER = timedelta(seconds=1)  # a reply that could not be made is tried again
MOST_TRIES = 4  # then something in the message ends processes: no model is asked any more


class Claim(NamedTuple):
    """The right to make and to store one reply."""

    message_id: UUID
    token: UUID
    begun: int  # how often making it was begun, this time included

    @property
    def last(self) -> bool:
        """Whether making it was begun too often to ask a model again."""
        return self.begun > MOST_TRIES


def record(message: Message) -> Claim:
    """Note, in the transaction that stores a message, that its reply is owed; claim it."""
    claim = Claim(message.pk, new_id(), 1)
    OwedReply.objects.create(
        message=message, claim=claim.token, claimed_until=Now() + LEASE, begun=claim.begun
    )
    return claim


def claim(worker: str, *, most: int) -> list[tuple[UUID, UUID]]:
    """Claim replies that no process makes, so that a worker makes `most` at a time.

    One account takes no more than half of them. Returns each message's id and its token.
    """
    if not _lapsed().exists():
        return []
    account = "message__thread__chatbot__account"
    mine = OwedReply.objects.filter(claimed_by=worker, claimed_until__gte=Now())
    making = Counter(mine.values_list(account, flat=True))
    share, room = max(1, most // 2), most - making.total()
    full = [one for one, count in making.items() if count >= share]
    waiting = _lapsed().exclude(**{f"{account}__in": full}).order_by("claimed_until")
    taken = []
    for message_id, old, owner in waiting.values_list("pk", "claim", account)[: max(0, room)]:
        token = new_id()
        if making[owner] < share and _lapsed().filter(pk=message_id, claim=old).update(
            claim=token, claimed_by=worker, claimed_until=Now() + LEASE
        ):
            making[owner] += 1
            taken.append((message_id, token))
    return taken


def confirm(message_id: UUID, token: UUID) -> Claim | None:
    """Begin what a dispatcher has claimed; None if the claim was lost, or used before."""
    return _begin(OwedReply.objects.filter(pk=message_id, claim=token))


def take(message_id: UUID) -> Claim | None:
    """Claim the reply to one message; None while another process makes it, or if none is owed."""
    return _begin(_lapsed().filter(pk=message_id), claimed_by="")


def settle(claim: Claim) -> bool:
    """Delete the row, in the transaction that stores the reply; False if the claim was lost."""
    return bool(_held(claim).delete()[0])


def release(claim: Claim) -> None:
    """Let another process make the reply: this one failed."""
    _held(claim).update(claimed_until=Now() + AGAIN_AFTER)


def postpone(claim: Claim) -> None:
    """Let another process make the reply; this one could not even begin."""
    _held(claim).update(claimed_until=Now() + AGAIN_AFTER, begun=F("begun") - 1)


def is_owed(message_id: UUID) -> bool:
    """Say whether a message still waits for its reply."""
    return OwedReply.objects.filter(pk=message_id).exists()


def _held(claim: Claim) -> QuerySet[OwedReply]:
    return OwedReply.objects.filter(pk=claim.message_id, claim=claim.token)


def _lapsed() -> QuerySet[OwedReply]:
    # No lease reaches that far into the future, unless the clock was set back since.
    ended = Q(claimed_until__lt=Now()) | Q(claimed_until__gt=Now() + 2 * LEASE)
    return OwedReply.objects.filter(ended)


def _begin(rows: QuerySet[OwedReply], **columns: str) -> Claim | None:
    token = new_id()
    if not rows.update(claim=token, claimed_until=Now() + LEASE, begun=F("begun") + 1, **columns):
        return None
    row = OwedReply.objects.filter(claim=token).first()
    return Claim(row.pk, token, row.begun) if row else None


def _renew(tokens: list[UUID]) -> None:
    OwedReply.objects.filter(claim__in=tokens).update(claimed_until=Now() + LEASE)


renewal = Renewal(_renew, every=RENEWED_EVERY)
