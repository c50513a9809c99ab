"""Whether a worker lives: something that the system takes from it the moment it dies.

PostgreSQL: a session advisory lock on a connection of the worker's own. On one machine: a locked
file, which also keeps a second worker out.
"""

import secrets
from collections.abc import Collection
from contextlib import suppress
from typing import Any, Protocol

import psycopg
from django.conf import settings
from django.db import connection

from config.runtime.state import locked

ME = str(secrets.randbelow(2**31 - 2) + 1)  # this process; PostgreSQL's lock keys are int4
NAMESPACE = 0x77656268  # of our advisory locks; key 0 of it serialises the claiming


class AnotherWorker(Exception):
    """Raised where a second worker starts on what serves one."""

    def __init__(self) -> None:
        super().__init__(
            f"a worker already runs on {settings.STATE_DIR}: stop it first, or set DATABASE_URL "
            "and REDIS_URL, which serve several"
        )


class Life(Protocol):
    """A worker's hold on life, and its view of others."""

    def hold(self) -> None:
        """Take hold, or make sure that it still holds. Raises AnotherWorker or an error of the
        database."""

    def dead(self, workers: Collection[str]) -> set[str]:
        """Say which of these are certainly dead."""


class FileLife:
    """One worker on one machine. While it holds the file, every other one is dead."""

    def __init__(self) -> None:
        # Any: an open file, or None before it is held
        self.file: Any = None

    def hold(self) -> None:
        """Lock the file."""
        if self.file:
            return
        try:
            self.file = locked(settings.STATE_DIR / "worker.lock")
        except BlockingIOError:
            raise AnotherWorker from None

    def dead(self, workers: Collection[str]) -> set[str]:
        """Everyone else."""
        return set(workers) - {ME}


class DatabaseLife:
    """One worker of several, by a session lock in the database that they share."""

    def __init__(self) -> None:
        self.own: psycopg.Connection[Any] | None = None
        self.missed: set[str] = set()

    def hold(self) -> None:
        """Lock our key; where the connection was lost, on a new one."""
        if self.own:
            with suppress(psycopg.Error):
                self.own.execute("SELECT 1")
                return
            self.own.close()
            self.own, self.missed = None, set()  # the others were cut off, too: see them twice
        self.own = psycopg.connect(**connection.get_connection_params(), autocommit=True)
        # shared: a session of ours that broke here may live on over there, and must not stop us
        self.own.execute("SELECT pg_advisory_lock_shared(%s, %s)", (NAMESPACE, int(ME)))

    def dead(self, workers: Collection[str]) -> set[str]:
        """Those whose lock was free twice in a row.

        Once is not enough: after a restart of the database everybody has to take hold again.
        """
        others = set(workers) - {ME}
        if not (others and self.own):
            return set()
        rows = self.own.execute(
            "SELECT objid::text FROM pg_locks WHERE locktype = 'advisory' AND granted"
            " AND classid = %s AND database = (SELECT oid FROM pg_database"
            " WHERE datname = current_database())",
            (NAMESPACE,),
        )
        free = others - {row[0] for row in rows}
        dead, self.missed = free & self.missed, free
        return dead


def lives() -> list[Life]:
    """Say how this worker's life is shown here; the last one knows of the others."""
    file: list[Life] = [FileLife()] if settings.MACHINE_BOUND else []
    database: list[Life] = [] if settings.EMBEDDED else [DatabaseLife()]
    return file + database
