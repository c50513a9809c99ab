"""The floor's databases, used without an ORM and with one persistent connection per thread."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import orjson
import psycopg

Row = tuple[Any, ...]  # Any, because a value's type depends on its column


class Postgres:
    """PostgreSQL through psycopg."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.local = threading.local()

    @property
    def connection(self) -> psycopg.Connection[Row]:
        if not hasattr(self.local, "connection"):
            options = "-c timezone=UTC"
            self.local.connection = psycopg.connect(self.address, autocommit=True, options=options)
        made: psycopg.Connection[Row] = self.local.connection
        return made

    def rows(self, sql: str, *values: Any) -> list[Row]:
        return self.connection.execute(sql, values, prepare=True).fetchall()

    def write(self, sql: str, *values: Any) -> None:
        self.connection.execute(sql, values, prepare=True)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        with self.connection.transaction():
            yield

    def write_one(self, sql: str, *values: Any) -> list[Row]:
        """Run one statement in its own transaction."""
        return self.rows(sql, *values)

    @staticmethod
    def now() -> datetime:
        return datetime.now(UTC)

    @staticmethod
    def key(given: UUID | str) -> Any:
        """Return an id in the form used for SQL parameters."""
        return given

    @staticmethod
    def ident(stored: Any) -> Any:
        """Return a stored id in a form that orjson can write."""
        return stored

    @staticmethod
    def moment(stored: datetime | None) -> str | None:
        """Return a stored time in the wire format."""
        return f"{stored.isoformat(timespec='milliseconds')[:-6]}Z" if stored else None

    @staticmethod
    def free(stored: Any) -> Any:
        """Return a JSON column's value."""
        return stored

    @staticmethod
    def flag(stored: bool | None) -> bool | None:
        return stored


class Sqlite:
    """SQLite in WAL mode, with durable commits and one writer at a time in this process."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.local = threading.local()
        self.turn = threading.Lock()

    @property
    def connection(self) -> sqlite3.Connection:
        if not hasattr(self.local, "connection"):
            made = sqlite3.connect(self.path, isolation_level=None, timeout=20)
            made.execute("PRAGMA journal_mode=WAL")
            made.execute("PRAGMA synchronous=FULL")
            made.execute("PRAGMA foreign_keys=ON")
            self.local.connection = made
        connection: sqlite3.Connection = self.local.connection
        return connection

    def rows(self, sql: str, *values: Any) -> list[Row]:
        return self.connection.execute(sql, values).fetchall()

    def write(self, sql: str, *values: Any) -> None:
        self.connection.execute(sql, values)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        connection = self.connection
        with self.turn:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")

    def write_one(self, sql: str, *values: Any) -> list[Row]:
        """Run one statement in its own transaction."""
        with self.turn:
            return self.rows(sql, *values)

    @staticmethod
    def now() -> str:
        return datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S.%f")

    @staticmethod
    def key(given: UUID | str) -> str:
        return given.hex if isinstance(given, UUID) else given.replace("-", "")

    @staticmethod
    def ident(stored: str | None) -> str | None:
        return stored and "-".join(
            (stored[:8], stored[8:12], stored[12:16], stored[16:20], stored[20:])
        )

    @staticmethod
    def moment(stored: str | None) -> str | None:
        return stored and f"{stored[:10]}T{stored[11:23]}Z"

    @staticmethod
    def free(stored: str) -> Any:
        return orjson.loads(stored)

    @staticmethod
    def flag(stored: int | None) -> bool | None:
        return None if stored is None else bool(stored)


def in_dialect(store: Postgres | Sqlite, sql: str) -> str:
    """Translate a statement into a store's dialect."""
    if isinstance(store, Postgres):
        return sql
    return sql.replace("%s", "?").replace(" FOR UPDATE OF t", "")
