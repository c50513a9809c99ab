"""SQLite for a process with many threads: writers take turns on a lock.

SQLite's own waiting polls now and then, in no order: of fifty concurrent writers, most sleep while
the database is free, and some give up. Between processes this is still so, but there are only two.
"""

import threading
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.db import OperationalError
from django.db.backends.sqlite3 import base, operations

_turn = threading.Lock()  # one is enough: there is one database


def moment(value: str | None, *_: Any) -> datetime | None:
    """Convert a stored time, which is in UTC."""
    return None if value is None else datetime.fromisoformat(value).replace(tzinfo=UTC)


def identifier(value: str | None, *_: Any) -> UUID | None:
    """Convert a stored uuid."""
    return None if value is None else UUID(int=int(value, 16))


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


class DatabaseWrapper(base.DatabaseWrapper):
    """Django's wrapper, except that a transaction holds the process's write lock."""

    ops_class = DatabaseOperations
    has_turn = False

    def get_connection_params(self) -> dict[str, Any]:
        """Leave all conversion to DatabaseOperations: sqlite3's own would come before it."""
        return super().get_connection_params() | {"detect_types": 0, "cached_statements": 512}

    def prepared_cursor(self) -> Any:  # Any, here and below: as in the base class
        """Make a cursor for a prepared statement. SQLite keeps its plan for any cursor."""
        return self.cursor()

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
