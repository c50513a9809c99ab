"""Claims on rows. A claim has two columns: a fencing token, and the time at which its lease ends.

A process renews the leases of its running work. If the process dies, its leases expire within
LEASE, and another process claims the rows. A process that has lost its claim cannot write: every
write is guarded by the token.
"""

import logging
import threading
import time
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, Generic, TypeVar
from uuid import UUID

from django.db import Error, connection
from django.db.models import Model, Q
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Now

from config.database.locks import update_unlocked

LEASE = timedelta(seconds=8)
RENEWED_EVERY = 2.0  # seconds between renewals, so three renewals may fail in a row
# How long a process retries to store the result of finished work, in seconds. See `locks.insist`.
SETTLED_WITHIN = 20.0
NO_CLAIM: dict[str, Any] = {"claim": None, "claimed_until": None}  # Any: values of two types

Held = TypeVar("Held", bound=Hashable)

logger = logging.getLogger(__name__)


def lease_end() -> CombinedExpression:
    """Return when a lease that is granted now ends, by the database's clock."""
    return Now() + LEASE


def has_expired() -> Q:
    """Match rows whose lease has expired.

    A lease that ends more than 2 * LEASE from now also counts as expired: the clock was set back.
    """
    return Q(claimed_until__lt=Now()) | Q(claimed_until__gt=Now() + 2 * LEASE)


class Renewal(Generic[Held]):
    """Renews the leases of this process's claims in one thread, which runs while there are claims.

    The thread repeatedly sleeps for RENEWED_EVERY seconds and then calls `renew` with the current
    claims to extend their leases.
    """

    def __init__(self, renew: Callable[[list[Held]], object]) -> None:
        self.renew = renew
        self.lock = threading.Lock()
        self.claims: set[Held] = set()
        self.runs = False

    @contextmanager
    def of(self, claim: Held) -> Iterator[None]:
        """Renew a claim for as long as the block runs.

        Raises RuntimeError if no thread can be started.
        """
        with self.lock:
            if not self.runs:
                threading.Thread(target=self.run, name="renewal", daemon=True).start()
            self.claims.add(claim)
            self.runs = True
        try:
            yield
        finally:
            with self.lock:
                self.claims.discard(claim)

    def run(self) -> None:
        """Renew the current claims until there are none left."""
        while True:
            time.sleep(RENEWED_EVERY)
            with self.lock:
                if not self.claims:
                    self.runs = False
                    return
                claims = list(self.claims)
            try:
                try:
                    self.renew(claims)
                finally:
                    connection.close()
            except Error as error:
                logger.warning("leases could not be renewed: %s", error)
            except Exception:  # this thread renews all leases, so it must not end
                logger.exception("leases could not be renewed")


def renewal_of(model: type[Model]) -> Renewal[tuple[Any, UUID]]:
    """Return a renewal of claims on a model's rows. Each claim is a primary key and a token.

    Locked rows are skipped, because waiting for one of them could let all other leases expire.
    """

    def renew(claims: Iterable[tuple[Any, UUID]]) -> None:
        keys, tokens = zip(*claims, strict=True)
        rows = model._base_manager.filter(pk__in=keys, claim__in=set(tokens))
        update_unlocked(rows, claimed_until=lease_end())

    return Renewal(renew)
