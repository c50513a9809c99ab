"""PostgreSQL with a pool that survives a restart of the server."""

import select
import time
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import psycopg
from django.conf import settings
from django.db.backends.postgresql import base
from psycopg.adapt import AdaptersMap
from psycopg.pq import ConnStatus
from psycopg.types.datetime import TimestamptzLoader
from psycopg_pool import PoolTimeout

from config.database.postgresql.outage import outage

# Seconds, less than two in all: first for a pooled connection or its answer, then to find out
# whether the database is down. A busy machine may take most of a second to connect.
WAIT = 0.5
VERDICT = 1.4
RECENT = 0.05  # seconds for which an answer shows that the server is not silent


class DatabaseWrapper(base.DatabaseWrapper):
    """Django's wrapper, except that it never hands out a dead connection.

    Django's CONN_HEALTH_CHECKS would check too, but the pool then sleeps between one dead
    connection and the next, and waits without a limit for a server that is suspended.
    """

    answered_at = 0.0  # when this process last gave back a connection that worked (monotonic)
    prepares = False  # while a cursor for a prepared statement is made

    def get_connection_params(self) -> dict[str, Any]:
        """Read times with psycopg's loader, which is written in C; Django's is written in Python.

        It returns times in the connection's time zone, which Django sets to UTC.
        """
        params: dict[str, Any] = super().get_connection_params()
        params["context"] = adapters = AdaptersMap(params["context"])
        adapters.register_loader("timestamptz", TimestamptzLoader)
        if settings.PREPARED_STATEMENTS:
            params["prepare_threshold"] = 0  # from the first run: `prepared_cursor` is for hot SQL
        return params

    def create_cursor(self, name: str | None = None) -> Any:  # Any: psycopg's
        """Make a cursor that keeps the connection's loaders. A name makes one on the server."""
        kinds: Any = base  # Any: the stubs lack the arguments of its cursors
        if name:
            held = self.connection.autocommit
            return kinds.ServerSideCursor(
                self.connection, name=name, scrollable=False, withhold=held
            )
        return (kinds.ServerBindingCursor if self.prepares else kinds.Cursor)(self.connection)

    def prepared_cursor(self) -> Any:  # Any: Django's wrapper of a cursor
        """Make a cursor whose statement the server parses and plans once per connection.

        While queries are logged, an ordinary one: the log needs the values in the SQL.
        """
        self.prepares = settings.PREPARED_STATEMENTS and not self.queries_logged
        try:
            return self.cursor()
        finally:
            self.prepares = False

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:  # Any: psycopg's
        """Take a live connection from the pool. Raises OperationalError if there is none."""
        if not self.pool:
            return super().get_new_connection(conn_params)
        self.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
        self.pool.open()
        deadline = time.monotonic() + self.pool.timeout
        while True:
            outage.check()
            left = deadline - time.monotonic()
            try:
                connection = self.pool.getconn(min(WAIT, left) if outage.watched else left)
            except PoolTimeout:
                if time.monotonic() >= deadline:
                    raise
            else:
                if self.unspoiled(connection) or answers(connection):
                    if outage.watched:
                        outage.watch(connection)
                    return connection
                connection.close()
                self.pool.putconn(connection)  # which replaces it
            if outage.watched:
                outage.find_out(conn_params, within=VERDICT)

    def writing(self) -> AbstractContextManager[object]:
        """Surround one statement that writes. Outside a transaction it is one by itself."""
        return nullcontext()

    def unspoiled(self, connection: psycopg.Connection[Any]) -> bool:
        """Return whether a pooled connection needs no round trip to know that it works.

        The server has just answered this process, and has not ended this connection: if it had,
        there would be something to read.
        """
        if time.monotonic() - self.answered_at > RECENT:
            return False
        poll = select.poll()
        poll.register(connection.pgconn.socket, select.POLLIN)
        return not poll.poll(0)

    def _close(self) -> None:
        if self.connection is not None and self.connection.pgconn.status == ConnStatus.OK:
            DatabaseWrapper.answered_at = time.monotonic()
        super()._close()  # type: ignore[misc] # the stubs lack it


def answers(connection: psycopg.Connection[Any]) -> bool:
    """Send an empty query on an idle connection, and return whether the server answers in time.

    Each wait lasts at most WAIT seconds. psycopg's own calls would wait as long as the server is
    silent.
    """
    server, poll = connection.pgconn, select.poll()
    poll.register(server.socket, select.POLLIN)
    try:
        server.send_query(b"")
        server.flush()
        while True:
            while server.is_busy():
                if not poll.poll(WAIT * 1000):
                    return False
                server.consume_input()
            if server.get_result() is None:
                return server.status == ConnStatus.OK
    except psycopg.OperationalError:
        return False
