"""Store responses by caller, route and Idempotency-Key, so that a request can be retried safely.

Each key has a row, which a request claims before it runs. The claim is a lease, which the process
renews while the request runs. If the process dies, the lease expires within seconds, and the next
request with the same key takes over the row. `viewsets.api` returns the stored responses.
"""

import hashlib
import logging
import re
import secrets
import time
from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from typing import NamedTuple
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import F, Sum, Window
from django.db.models.functions import Now
from django.utils import timezone

from accounts.models import StoredAnswer
from accounts.models.stored_answer import SMALLEST
from config.api import limits
from config.api.errors import ApiError, InvalidRequest
from config.database.claims import Renewal, has_expired, lease_end
from config.database.ids import new_id
from config.database.locks import delete_unlocked, update_unlocked
from config.runtime.gate import waiting

HEADER = "Idempotency-Key"
LONGEST = 255  # maximum length of an Idempotency-Key
KEY = re.compile(f"[!-~]{{1,{LONGEST}}}")
KEPT_FOR = timedelta(hours=24)
MAX_KEPT = 64 * 1024 * 1024  # maximum size of an account's stored responses, in bytes
PRUNED_EVERY = 4 * 1024 * 1024  # average number of bytes that an account stores between prunings
LOOK_FIRST, LOOK_LAST = 0.05, 0.5  # shortest and longest time between two polls, in seconds
LONGER = 60.0  # a retry waits at most LLM_TIMEOUT plus this many seconds

logger = logging.getLogger(__name__)


class TakenOver(Exception):
    """Raised when another request with the same key has taken over the claim."""


class Kept(NamedTuple):
    """A stored response, exactly as it was sent."""

    status: int
    body: bytes


class Claim(NamedTuple):
    """A claim on a request. Only its holder may run the request. A takeover replaces the holder."""

    row: UUID
    holder: UUID
    account: UUID


def begin(user_id: UUID, *, account_id: UUID, route: str, key: str, body: bytes) -> Kept | Claim:
    """Return the response stored for a key, or claim the key.

    If the original request is still running, waits for it without holding a database connection.
    Raises InvalidRequest if the key is malformed or was used with a different body. Raises
    TooManyRequests if too many requests are already waiting, and ApiError if the original request
    does not finish in time.
    """
    if not KEY.fullmatch(key):
        raise InvalidRequest.at([HEADER], f"Expected 1 to {LONGEST} visible ASCII characters")
    name = hashlib.sha256(f"{route}\n{key}".encode()).hexdigest()
    digest = hashlib.sha256(body).hexdigest()
    found = _find(user_id, account_id, name, digest)
    if found:
        return found
    pause, deadline = LOOK_FIRST, time.monotonic() + settings.LLM_TIMEOUT + LONGER
    # `places` limits how many server threads wait for models. A waiting retry takes a place too,
    # because the original request is usually waiting for a model.
    with limits.places.part(account_id):
        while time.monotonic() < deadline:
            with waiting():
                time.sleep(pause)
            pause = min(LOOK_LAST, pause * 1.5)
            if found := _find(user_id, account_id, name, digest):
                return found
    logger.error("a request with an Idempotency-Key timed out waiting for the original request")
    raise ApiError


def _find(user_id: UUID, account_id: UUID, name: str, digest: str) -> Kept | Claim | None:
    """Claim the key or find its response. Returns None while the original request is running."""
    claim, row = _look(user_id, account_id, name, digest)
    if claim:
        return claim
    if row and row.request_digest != digest:
        raise InvalidRequest.at([HEADER], "Already used with a different body")
    if row and row.status is not None:
        return Kept(row.status, bytes(row.body or b""))
    return None


def _look(
    user_id: UUID, account_id: UUID, name: str, digest: str
) -> tuple[Claim | None, StoredAnswer | None]:
    """Claim the key if it is free or its lease has expired. Returns the claim, if any, and the row.

    A response older than KEPT_FOR is deleted first.
    """
    holder = new_id()
    row = StoredAnswer.objects.filter(user=user_id, name=name).first()
    if row and row.status is not None and row.created_at < timezone.now() - KEPT_FOR:
        StoredAnswer.objects.filter(pk=row.pk).delete()
        row = None
    if row is None:
        made = StoredAnswer(
            user_id=user_id,
            account_id=account_id,
            name=name,
            request_digest=digest,
            claim=holder,
            claimed_until=lease_end(),
        )
        StoredAnswer.objects.bulk_create([made], ignore_conflicts=True)
        row = StoredAnswer.objects.filter(user=user_id, name=name).first()
        mine = row is not None and row.claim == holder
        return (Claim(row.pk, holder, account_id) if row and mine else None), row
    if row.status is None and row.request_digest == digest:
        ended = StoredAnswer.objects.filter(has_expired(), pk=row.pk, claim=row.claim)
        if ended.exists() and ended.update(claim=holder, claimed_until=lease_end()):
            return Claim(row.pk, holder, account_id), row
    return None, row


def keep(claim: Claim, status: int, body: bytes, *, thread_id: UUID | None = None) -> None:
    """Store the response, and the id of the thread that it contains, if any.

    Raises TakenOver if another request holds the claim. Only the holder may store a response.
    """
    held = StoredAnswer.objects.filter(pk=claim.row, claim=claim.holder)
    size = max(len(body), SMALLEST)
    if not held.update(status=status, body=body, size=size, thread_id=thread_id):
        raise TakenOver
    if secrets.randbelow(PRUNED_EVERY) < size:  # prunes at random, so no counter is needed
        transaction.on_commit(partial(prune, claim.account), robust=True)


def prune(account_id: UUID) -> None:
    """Delete an account's oldest responses to keep their total size within MAX_KEPT bytes.

    Rows without a response are kept. A response is kept until its lease expires, because a retry
    may still be waiting for it. The lease expires a few seconds after the request ends.
    """
    answers = StoredAnswer.objects.filter(account=account_id, size__isnull=False)
    size_since = Window(Sum("size"), order_by=F("created_at").desc())
    beyond = answers.annotate(size_since=size_since).filter(size_since__gt=MAX_KEPT)
    newest = beyond.order_by("-created_at").values_list("created_at", flat=True).first()
    if newest:
        answers.filter(has_expired(), created_at__lte=newest).delete()


def abandon(claim: Claim) -> None:
    """End the lease early, so that the next request with the key takes over and continues."""
    held = StoredAnswer.objects.filter(pk=claim.row, claim=claim.holder)
    held.update(claimed_until=Now())


def discard(claim: Claim) -> None:
    """Delete the row without storing a response: the next request with the key starts over."""
    StoredAnswer.objects.filter(pk=claim.row, claim=claim.holder).delete()


def forget() -> Iterator[int]:
    """Delete rows older than KEPT_FOR, with or without a response. Yields each batch's size."""
    old = StoredAnswer.objects.filter(created_at__lt=timezone.now() - KEPT_FOR)
    return delete_unlocked(old.order_by("created_at"))


def _renew(holders: list[UUID]) -> None:
    """Extend the leases of all of this process's running requests."""
    held = StoredAnswer.objects.filter(claim__in=holders)
    update_unlocked(held, claimed_until=lease_end())


renewal = Renewal(_renew)
