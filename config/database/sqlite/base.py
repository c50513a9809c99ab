"""Django's SQLite backend for a process with many threads."""

import threading
from functools import lru_cache
from typing import Any

from django.db import OperationalError
from django.db.backends.sqlite3 import base

# One transaction at a time, because there is only one database. SQLite itself lets writers poll at
# growing intervals, in no particular order: with 16 threads that write, the slowest 1 % of their
# transactions would take 1 s instead of 0.1 s.
_turn = threading.Lock()


class DatabaseWrapper(base.DatabaseWrapper):
    """Django's wrapper, except that transactions of one process begin one after the other."""

    can_join_inserts = False
    has_turn = False

    def run_prepared(
        self, sql: str, values: list[Any], *, reads: bool
    ) -> tuple[list[tuple[Any, ...]], int]:
        """Run a statement without Django's cursor. sqlite3 caches the compiled statement.

        Returns the rows, and the number of rows changed. Raises django.db.Error.
        """
        self.ensure_connection()
        self.validate_no_broken_transaction()
        with self.wrap_database_errors:
            cursor = self.connection.execute(with_question_marks(sql), values)
            return cursor.fetchall() if reads else [], cursor.rowcount

    def set_autocommit(
        self, autocommit: bool, force_begin_transaction_with_broken_autocommit: bool = False
    ) -> None:
        """Begin or end a transaction. A transaction begins when it is this thread's turn.

        Raises OperationalError if another thread's transaction takes longer than the timeout.
        """
        self.ensure_connection()
        if not (autocommit or self.has_turn):
            self.has_turn = _turn.acquire(timeout=self.settings_dict["OPTIONS"]["timeout"])
            if not self.has_turn:
                raise OperationalError("database is locked")
        try:
            super().set_autocommit(autocommit, force_begin_transaction_with_broken_autocommit)
        finally:
            if self.autocommit:
                self.end_turn()

    def close(self) -> None:
        """Close the connection, which ends its transaction and this thread's turn."""
        try:
            super().close()
        finally:
            self.end_turn()

    def end_turn(self) -> None:
        """Let another thread begin a transaction."""
        if self.has_turn:
            self.has_turn = False
            _turn.release()


@lru_cache(512)
def with_question_marks(query: str) -> str:
    """Replace a statement's unnamed placeholders with question marks."""
    return base.FORMAT_QMARK_REGEX.sub("?", query).replace("%%", "%")
