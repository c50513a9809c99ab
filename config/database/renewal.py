"""Renew this process's leases while the work that they protect is running."""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from uuid import UUID

from django.db import DatabaseError, connection

logger = logging.getLogger(__name__)


class Renewal:
    """Renews claims in one thread, which runs only while there are claims.

    Every `every` seconds, `renew` is called with the current claims, and extends their leases.
    """

    def __init__(self, renew: Callable[[list[UUID]], object], *, every: float) -> None:
        self.renew, self.every = renew, every
        self.lock = threading.Lock()
        self.claims: set[UUID] = set()
        self.runs = False

    @contextmanager
    def of(self, claim: UUID) -> Iterator[None]:
        """Renew a claim for as long as the block runs."""
        with self.lock:
            self.claims.add(claim)
            begins, self.runs = not self.runs, True
        if begins:
            threading.Thread(target=self.run, name="renewal", daemon=True).start()
        try:
            yield
        finally:
            with self.lock:
                self.claims.discard(claim)

    def run(self) -> None:
        """Renew until no claim is left."""
        while True:
            time.sleep(self.every)
            with self.lock:
                if not self.claims:
                    self.runs = False
                    return
                claims = list(self.claims)
            try:
                self.renew(claims)
            except DatabaseError as error:
                logger.warning("leases could not be renewed: %s", error)
            finally:
                connection.close()
