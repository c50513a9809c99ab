"""PostgreSQL with a connection pool that survives a restart of the server."""

import select
import time
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

import psycopg
from django.conf import settings
from django.db.backends.postgresql import base
from psycopg.adapt import AdaptersMap
from psycopg.pq import ConnStatus, TransactionStatus
from psycopg.types.datetime import TimestamptzLoader
from psycopg_pool import PoolTimeout

from config.database.inline import MustWait, inline
from config.database.postgresql.connection import Connection, Found
from config.database.postgresql.outage import ATTEMPT, failure, outage

# A request waits up to WAIT seconds for a connection from the pool or for a response on that
# connection. It then waits up to VERDICT seconds to find out whether the database is down. The
# total is less than two seconds. VERDICT is long enough to connect on a busy machine, which can
# take most of a second.
WAIT = 0.5
VERDICT = 1.4
PATIENT_WAIT = 5.0  # replaces WAIT in a worker, because its pool is often busy
LIFETIME = 600.0  # seconds for which the thread that takes requests keeps a connection
RECENT = 0.05  # for this many seconds after a response, the server counts as responsive


class DatabaseWrapper(base.DatabaseWrapper):
    """Django's wrapper, with prepared statements and a pool that never returns a dead connection.

    With Django's CONN_HEALTH_CHECKS, the pool would sleep after each dead connection that it found,
    and would wait indefinitely for a suspended server.
    """

    stores_times_as_text = False
    joins_writes = True
    waiting_writes: list[Any] | None = None  # queued in a `config.database.prepared.together` block
    inline = False  # whether this wrapper's thread takes requests, and so must not wait
    released = False  # closed cleanly, so there is no state to reset
    answered_at = 0.0  # monotonic time when this process last released a working connection

    def get_connection_params(self) -> dict[str, Any]:
        """Return Django's parameters, with psycopg's own loader for times.

        psycopg's loader is written in C, so it is faster than Django's loader, which is written in
        Python. It returns times in the connection's time zone, which Django sets to UTC.
        """
        params: dict[str, Any] = super().get_connection_params()
        params["context"] = with_loaders_in_c(params["context"])
        return params

    def _set_autocommit(self, autocommit: bool) -> None:
        if self.inline and not autocommit:
            raise MustWait  # a commit waits for the disk
        # Pooled connections already have this mode, and setting it again would take a lock.
        if self.connection.autocommit != autocommit:
            super()._set_autocommit(autocommit)  # type: ignore[misc] # the stubs lack it

    def create_cursor(self, name: str | None = None) -> Any:  # Any: psycopg's
        """Create a cursor that keeps the connection's loaders. A named cursor is server-side."""
        if self.inline:
            raise MustWait  # only prepared statements are known to be fast
        kinds: Any = base  # Any: the stubs omit these cursors' arguments
        if name:
            held = self.connection.autocommit
            return kinds.ServerSideCursor(
                self.connection, name=name, scrollable=False, withhold=held
            )
        return kinds.Cursor(self.connection)

    def ensure_connection(self) -> None:
        """Connect if necessary. Skips Django's setup if the last connection was closed cleanly.

        The setup checks the settings, resets the wrapper and sends a signal, which takes longer
        than getting a connection from the pool.
        """
        if self.connection is None and self.released and self.pool:
            self.released = False
            with self.wrap_database_errors:
                self.connection = self.get_new_connection({})
                self._set_autocommit(True)  # autocommit is off if a transaction was abandoned
        else:
            super().ensure_connection()

    def run_prepared(
        self, sql: str, values: list[Any], *, reads: bool
    ) -> tuple[list[tuple[Any, ...]], int]:
        """Run a statement without Django's cursor.

        Returns the rows, and the number of rows read or changed. If PREPARED_STATEMENTS is on, the
        server parses the statement only once per connection.
        """
        self.ensure_connection()
        self.validate_no_broken_transaction()
        with self.wrap_database_errors:
            if settings.PREPARED_STATEMENTS:
                until = inline.until if self.inline else None
                found: Found = self.connection.run(sql, values, until=until)
                return found
            cursor = psycopg.ClientCursor(self.connection)
            cursor.execute(sql, values)
            return cursor.fetchall() if reads else [], cursor.rowcount

    def run_many(self, sql: str, rows: list[list[Any]]) -> None:
        """Run a statement that returns no rows, once for each list of values."""
        self.ensure_connection()
        self.validate_no_broken_transaction()
        with self.wrap_database_errors:
            if settings.PREPARED_STATEMENTS:
                self.connection.run_many(sql, rows)
            else:
                psycopg.ClientCursor(self.connection).executemany(sql, rows)

    def run_later(self, sql: str, values: list[Any]) -> None:
        """Run a statement in the same round trip as the next statement or COMMIT.

        Discards the result. If PREPARED_STATEMENTS is off, runs the statement immediately.
        """
        if not settings.PREPARED_STATEMENTS:
            self.run_prepared(sql, values, reads=False)
            return
        self.ensure_connection()
        self.validate_no_broken_transaction()
        with self.wrap_database_errors:
            self.connection.run_later(sql, values)

    def _savepoint_rollback(self, savepoint: str) -> None:
        if self.connection:
            self.connection.later.clear()  # queued statements are newer than the savepoint
        super()._savepoint_rollback(savepoint)  # type: ignore[misc] # the stubs lack it

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:  # Any: psycopg's
        """Take a live connection from the pool, or raise OperationalError.

        The thread that takes requests does not use the pool. It takes a connection that another
        thread has offered, or raises MustWait if no connection is on offer.
        """
        self.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
        if not self.pool:
            return Connection.connect(**conn_params)
        if self.inline:
            self.close_at = time.monotonic() + LIFETIME
            return inline.take()
        self.pool.open()
        deadline = time.monotonic() + self.pool.timeout
        while True:
            outage.check()
            left = deadline - time.monotonic()
            try:
                # Call getconn repeatedly: only a new call makes the pool try to connect again.
                connection = self.pool.getconn(min(wait(), left))
            except PoolTimeout:
                # The pool does not report why it has no connection. Connect directly to find out.
                limits = {"connect_timeout": ATTEMPT}
                if not outage.watched and (error := failure(self.get_connection_params() | limits)):
                    raise error from None
                if time.monotonic() >= deadline:
                    raise
            else:
                if self.unspoiled(connection) or answers(connection):
                    if outage.watched:
                        outage.watch(connection)
                    return connection
                connection.close()
                self.pool.putconn(connection)  # the pool replaces it
            if outage.watched:
                within = left if outage.patient else VERDICT
                outage.find_out(self.get_connection_params(), within=within)

    def writing(self) -> AbstractContextManager[object]:
        """Return a context manager for one write.

        Outside a transaction, the write is autocommitted. Raises MustWait on the thread that takes
        requests.
        """
        if self.inline:
            raise MustWait
        return nullcontext()

    def unspoiled(self, connection: Connection) -> bool:
        """Return whether a pooled connection is known to work, without a round trip.

        Returns True if the server responded to this process very recently and has not closed this
        connection. If it had, the connection's socket would be readable.
        """
        recent = time.monotonic() - self.answered_at <= RECENT
        return recent and not connection.has_input()

    def _close(self) -> None:
        self.released = not (self.in_atomic_block or self.needs_rollback or self.errors_occurred)
        if self.connection is not None and self.connection.pgconn.status == ConnStatus.OK:
            DatabaseWrapper.answered_at = time.monotonic()
            self.connection.later.clear()  # left over from an abandoned transaction
            if inline.wanted and self.can_spare() and inline.offer(self.connection):
                return
        super()._close()  # type: ignore[misc] # the stubs lack it

    def can_spare(self) -> bool:
        """Return whether the pool can spare this thread's connection."""
        if self.inline or self.in_atomic_block or not self.pool:
            return False
        figures = self.pool.get_stats()
        idle = self.connection.pgconn.transaction_status == TransactionStatus.IDLE
        return idle and figures["pool_size"] > 1 and not figures["requests_waiting"]

    def use_inline(self) -> None:
        """Set up this wrapper to read on the thread that takes requests.

        Raises MustWait if there is no working connection, or if prepared statements are disabled.
        """
        if not settings.PREPARED_STATEMENTS:
            raise MustWait
        self.inline = True
        self.ensure_connection()
        if self.connection.closed or self.connection.has_input():
            self.close()
            raise MustWait

    def close_if_unusable_or_obsolete(self) -> None:
        """Close an inline connection if LIFETIME has passed or an error has occurred on it."""
        if not self.inline:
            super().close_if_unusable_or_obsolete()
        elif self.errors_occurred or time.monotonic() >= (self.close_at or 0):
            self.close()


@cache
def with_loaders_in_c(adapters: AdaptersMap) -> AdaptersMap:
    """Return Django's adapters with psycopg's own loader for times."""
    faster = AdaptersMap(adapters)
    faster.register_loader("timestamptz", TimestamptzLoader)
    return faster


def wait() -> float:
    """Return how many seconds to wait for a pooled connection, or for a response on it."""
    return PATIENT_WAIT if outage.patient else WAIT


def answers(connection: psycopg.Connection[Any]) -> bool:
    """Send an empty query on an idle connection, and return whether the server responds in time.

    Each wait has a time limit, whereas psycopg's own calls could wait indefinitely.
    """
    server, poll = connection.pgconn, select.poll()
    poll.register(server.socket, select.POLLIN)
    try:
        server.send_query(b"")
        server.flush()
        while True:
            while server.is_busy():
                if not poll.poll(wait() * 1000):
                    return False
                server.consume_input()
            if server.get_result() is None:
                return server.status == ConnStatus.OK
    except psycopg.OperationalError:
        return False
