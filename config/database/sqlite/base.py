"""SQLite for a process with many threads: writers take turns on a lock.

SQLite's own waiting polls now and then, in no order: of fifty concurrent writers, most sleep while
the database is free, and some give up. Between processes this is still so, but there are only two.
"""

import threading
from typing import Any

from django.db import OperationalError
from django.db.backends.sqlite3 import base

_turn = threading.Lock()  # one is enough: there is one database


class DatabaseWrapper(base.DatabaseWrapper):
    """Django's wrapper, except that a transaction holds the process's write lock."""

    has_turn = False

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
