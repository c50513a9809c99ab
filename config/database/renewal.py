"""Renew this process's leases while the work that they protect is running."""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from uuid import UUID

from django.db import Error, connection

logger = logging.getLogger(__name__)


class Renewal:
    """Renews claims in one thread, which runs only while there are claims.

    The thread repeatedly sleeps for `every` seconds and then calls `renew` with the current claims
    to extend their leases.
    """

    def __init__(self, renew: Callable[[list[UUID]], object], *, every: float) -> None:
        self.renew, self.every = renew, every
        self.lock = threading.Lock()
        self.claims: set[UUID] = set()
        self.runs = False

    @contextmanager
    def of(self, claim: UUID) -> Iterator[None]:
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
            time.sleep(self.every)
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
