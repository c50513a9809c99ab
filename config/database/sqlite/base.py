"""A SQLite backend for processes with many threads. All writes wait in one queue."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any
from uuid import UUID

from django.db import OperationalError
from django.db.backends.sqlite3 import base, operations

from config.database.inline import MustWait, inline
from config.database.sqlite.write_queue import WriteQueue

LONG = 10_000  # length in characters; statements of this length or more are not cached
WRITES = ("INSERT", "UPDATE", "DELETE", "REPLAC")  # first six letters of statements that write

_queue = WriteQueue()  # one queue is enough, because there is only one database


def timestamp(value: str | None, *_: Any) -> datetime | None:
    """Convert a stored time to a datetime in UTC."""
    return None if value is None else datetime.fromisoformat(value).replace(tzinfo=UTC)


def identifier(value: str | None, *_: Any) -> UUID | None:
    """Convert a stored uuid."""
    return None if value is None else known_uuid(value)


@lru_cache(4_096)
def known_uuid(text: str) -> UUID:
    """Parse a uuid.

    Results are cached, because the rows on a page often refer to the same chatbot, thread or model.
    """
    return UUID(int=int(text, 16))


def flag(value: int | None, *_: Any) -> bool | None:
    """Convert a stored boolean."""
    return None if value is None else value != 0


class DatabaseOperations(operations.DatabaseOperations):
    """Django's operations, with faster conversion of the common types."""

    CONVERTERS = {"DateTimeField": timestamp, "UUIDField": identifier, "BooleanField": flag}

    def get_db_converters(self, expression: Any) -> list[Any]:
        """Return the functions that convert an expression's values after they are read."""
        fast = self.CONVERTERS.get(expression.output_field.get_internal_type())
        return [fast] if fast else super().get_db_converters(expression)


class Cursor(base.SQLiteCursorWrapper):
    """A cursor that caches converted statements. Outside a transaction, its writes are queued."""

    database: "DatabaseWrapper"

    def execute(self, query: str, params: Any = None) -> Any:  # Any: Django's are unannotated
        """Run a statement. A write outside a transaction acquires the write lock."""
        if not self._is_single_write(query):
            return super().execute(query, params)
        self.database.acquire_write_lock()
        try:
            return super().execute(query, params)
        finally:
            self.database.release_write_lock()

    def executemany(self, query: str, param_list: Any) -> Any:
        """Run a statement many times.

        A write outside a transaction acquires the write lock once for all runs.
        """
        if not self._is_single_write(query):
            return super().executemany(query, param_list)
        self.database.acquire_write_lock()
        try:
            return super().executemany(query, param_list)
        finally:
            self.database.release_write_lock()

    def _is_single_write(self, query: str) -> bool:
        return not self.database.holds_write_lock and query.lstrip()[:6].upper() in WRITES

    def convert_query(self, query: str, *, param_names: list[str] | None = None) -> str:
        """Convert a statement's placeholders to sqlite3's style."""
        if param_names is None and len(query) < LONG:
            return with_question_marks(query)
        converted: str = super().convert_query(query, param_names=param_names)
        return converted


@lru_cache(512)
def with_question_marks(query: str) -> str:
    """Replace a statement's unnamed placeholders with question marks."""
    return base.FORMAT_QMARK_REGEX.sub("?", query).replace("%%", "%")


class DatabaseWrapper(base.DatabaseWrapper):
    """Django's wrapper, except that every write waits in the queue for the write lock."""

    ops_class = DatabaseOperations
    stores_times_as_text = True
    joins_writes = False
    waiting_writes = None
    holds_write_lock = False

    def get_connection_params(self) -> dict[str, Any]:
        """Turn off sqlite3's own converters, which would run before those of DatabaseOperations."""
        return super().get_connection_params() | {"detect_types": 0, "cached_statements": 512}

    def run_many(self, sql: str, rows: list[list[Any]]) -> None:
        """Run a statement that returns no rows, once for each list of values."""
        with self.cursor() as cursor:
            cursor.executemany(sql, rows)

    def use_inline(self) -> None:
        """Do nothing, because a SQLite read waits neither for a server nor for a writer."""

    def create_cursor(self, name: str | None = None) -> Any:
        """Create a cursor that can acquire the write lock for this connection."""
        cursor = self.connection.cursor(factory=Cursor)
        cursor.database = self
        return cursor

    def run_prepared(
        self, sql: str, values: list[Any], *, reads: bool
    ) -> tuple[list[tuple[Any, ...]], int]:
        """Run a statement without Django's cursor. Returns the rows it reads, and the row count.

        sqlite3 caches the compiled statement. A statement that writes must run inside `writing`.
        """
        self.ensure_connection()
        self.validate_no_broken_transaction()
        with self.wrap_database_errors:
            cursor = self.connection.execute(with_question_marks(sql), values)
            return cursor.fetchall() if reads else [], cursor.rowcount

    @contextmanager
    def writing(self, *, at_once: bool = False) -> Iterator[None]:
        """Hold the write lock for one write. Inside a transaction, the lock is already held.

        A statement that returns rows does not end until its last row is read, so the write lock is
        held until then. Raises OperationalError if another writer holds the lock for longer than
        the database's timeout. If `at_once` is true, the timeout is zero.
        """
        if self.holds_write_lock:
            yield
            return
        self.acquire_write_lock(0 if at_once else None)
        try:
            with self.waiting_at_most(0) if at_once else nullcontext():
                yield
        finally:
            self.release_write_lock()

    @contextmanager
    def waiting_at_most(self, seconds: float) -> Iterator[None]:
        """Limit the wait for writers outside the queue, such as an operator's sqlite3 shell."""
        self.ensure_connection()
        self.connection.execute(f"PRAGMA busy_timeout = {int(seconds * 1000)}")
        try:
            yield
        finally:
            usual = self.settings_dict["OPTIONS"]["timeout"]
            self.connection.execute(f"PRAGMA busy_timeout = {int(usual * 1000)}")

    def acquire_write_lock(self, timeout: float | None = None) -> None:
        """Wait for the write lock. Raises OperationalError after `timeout` seconds.

        If `timeout` is None, the database's timeout applies. On the thread that takes requests, the
        request's remaining time applies instead, and MustWait is raised when that time runs out.
        """
        name, options = str(self.settings_dict["NAME"]), self.settings_dict["OPTIONS"]
        left = inline.left() if timeout is None else None
        if left is None:
            _queue.acquire(name, options["timeout"] if timeout is None else timeout)
        else:
            self._acquire_inline(name, left)
        self.holds_write_lock = True

    def _acquire_inline(self, name: str, left: float) -> None:
        try:
            _queue.acquire(name, left)
        except OperationalError:
            raise MustWait from None
        try:
            with self.waiting_at_most(inline.left() or 0):
                self.connection.execute("BEGIN IMMEDIATE")  # fails if the database is locked
                self.connection.execute("ROLLBACK")
        except BaseException as error:
            _queue.release()
            if isinstance(error, sqlite3.OperationalError):
                raise MustWait from None
            raise
        inline.proceed()

    def release_write_lock(self) -> None:
        """Release the write lock if this connection holds it."""
        if self.holds_write_lock:
            self.holds_write_lock = False
            _queue.release()

    def _start_transaction_under_autocommit(self) -> None:
        self.acquire_write_lock()
        try:
            super()._start_transaction_under_autocommit()  # type: ignore[misc] # the stubs lack it
        except BaseException:
            self.release_write_lock()
            raise

    def _commit(self) -> Any:
        committed = super()._commit()  # type: ignore[misc] # the stubs lack it
        self.release_write_lock()
        return committed

    def _rollback(self) -> Any:
        try:
            return super()._rollback()  # type: ignore[misc] # the stubs lack it
        finally:
            self.release_write_lock()

    def _close(self) -> Any:
        try:
            return super()._close()  # type: ignore[misc] # the stubs lack it
        finally:
            self.release_write_lock()
