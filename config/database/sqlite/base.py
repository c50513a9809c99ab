"""SQLite for a process with many threads: writers take turns on a lock.

SQLite's own waiting polls now and then, in no order: of fifty concurrent writers, most sleep while
the database is free, and some give up. Between processes this is still so, but there are only two.
"""

import threading
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any
from uuid import UUID

from django.db import OperationalError, transaction
from django.db.backends.sqlite3 import base, operations

LONG = 10_000  # characters of a statement that is not remembered
_turn = threading.Lock()  # one is enough: there is one database


def moment(value: str | None, *_: Any) -> datetime | None:
    """Convert a stored time, which is in UTC."""
    return None if value is None else datetime.fromisoformat(value).replace(tzinfo=UTC)


def identifier(value: str | None, *_: Any) -> UUID | None:
    """Convert a stored uuid."""
    return None if value is None else known_uuid(value)


@lru_cache(4_096)
def known_uuid(text: str) -> UUID:
    """Parse a uuid. The rows of a page share most of theirs: a chatbot's, a thread's, a model's."""
    return UUID(int=int(text, 16))


def flag(value: int | None, *_: Any) -> bool | None:
    """Convert a stored boolean."""
    return None if value is None else value != 0


class DatabaseOperations(operations.DatabaseOperations):
    """Django's operations, except that they convert the common types faster."""

    CONVERTERS = {"DateTimeField": moment, "UUIDField": identifier, "BooleanField": flag}

    def get_db_converters(self, expression: Any) -> list[Any]:
        """Return the functions that convert an expression's values."""
        fast = self.CONVERTERS.get(expression.output_field.get_internal_type())
        return [fast] if fast else super().get_db_converters(expression)


class Cursor(base.SQLiteCursorWrapper):
    """Django's cursor, except that it remembers the conversion of %s to ? in common statements."""

    def convert_query(self, query: str, *, param_names: list[str] | None = None) -> str:
        """Convert a statement to the form of sqlite3."""
        if param_names is None and len(query) < LONG:
            return with_question_marks(query)
        converted: str = super().convert_query(query, param_names=param_names)
        return converted


@lru_cache(512)
def with_question_marks(query: str) -> str:
    """Convert a statement with unnamed parameters."""
    return base.FORMAT_QMARK_REGEX.sub("?", query).replace("%%", "%")


class DatabaseWrapper(base.DatabaseWrapper):
    """Django's wrapper, except that a transaction holds the process's write lock."""

    ops_class = DatabaseOperations
    has_turn = False

    def get_connection_params(self) -> dict[str, Any]:
        """Leave all conversion to DatabaseOperations: sqlite3's own would come before it."""
        return super().get_connection_params() | {"detect_types": 0, "cached_statements": 512}

    # Any, here and below: as in the base class
    def create_cursor(self, name: str | None = None) -> Any:
        """Make a cursor."""
        return self.connection.cursor(factory=Cursor)

    def prepared_cursor(self) -> Any:
        """Make a cursor for a prepared statement. SQLite keeps its plan for any cursor."""
        return self.cursor()

    def writing(self) -> AbstractContextManager[object]:
        """Surround one statement that writes. Outside a transaction it gets one, for its turn."""
        return nullcontext() if self.in_atomic_block else transaction.atomic()

    def _start_transaction_under_autocommit(self) -> None:
        if not _turn.acquire(timeout=self.settings_dict["OPTIONS"]["timeout"]):
            raise OperationalError("database is locked")
        self.has_turn = True
        try:
            super()._start_transaction_under_autocommit()  # type: ignore[misc] # the stubs lack it
        except BaseException:
            self._end_turn()
            raise

    def _commit(self) -> Any:
        committed = super()._commit()  # type: ignore[misc] # the stubs lack it
        self._end_turn()
        return committed

    def _rollback(self) -> Any:
        try:
            return super()._rollback()  # type: ignore[misc] # the stubs lack it
        finally:
            self._end_turn()

    def _close(self) -> Any:
        try:
            return super()._close()  # type: ignore[misc] # the stubs lack it
        finally:
            self._end_turn()

    def _end_turn(self) -> None:
        if self.has_turn:
            self.has_turn = False
            _turn.release()
