"""A connection that runs prepared statements itself, without psycopg's cursors.

For a short statement, a cursor would take twice as much CPU time.
"""

import select
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property, lru_cache
from itertools import count
from re import sub
from typing import Any, TypeVar

import psycopg
from psycopg import errors
from psycopg.adapt import PyFormat, Transformer
from psycopg.pq import ExecStatus, TransactionStatus
from psycopg.pq.abc import PGresult

from config.database.inline import MustWait

MOST = 500  # maximum number of prepared statements per connection; further statements use a cursor
OBSOLETE = (
    errors.FeatureNotSupported,
    errors.InvalidSqlStatementName,
    errors.ReadOnlySqlTransaction,
)
MOST_PARAMETERS = 65_535  # PostgreSQL's own limit
FORMATS = [PyFormat.AUTO] * MOST_PARAMETERS
Named = tuple[str, tuple[int, ...] | None]  # a statement and the types of its parameters
Call = tuple[bytes, Sequence[Any], Sequence[Any]]  # a statement's name, parameters and formats
Found = tuple[list[tuple[Any, ...]], int]  # the rows, and the number of rows read or changed
ResultT = TypeVar("ResultT")


class Connection(psycopg.Connection[Any]):
    """Runs prepared statements with as few calls to libpq as possible."""

    @cached_property
    def names(self) -> dict[Named, bytes]:
        """The names under which the server keeps this connection's prepared statements."""
        return {}

    @cached_property
    def later(self) -> list[Call]:
        """Statements to send together with the next one, or with COMMIT."""
        return []

    @cached_property
    def adapter(self) -> Any:  # a psycopg Transformer
        """Converts parameters and results. It caches the converter for each type."""
        return Transformer(self)

    @cached_property
    def polls(self) -> Mapping[int, Callable[[float | None], list[tuple[int, int]]]]:
        """Functions that wait for events on the connection's socket, keyed by the set of events."""
        polls = {}
        for events in (select.POLLIN, select.POLLIN | select.POLLOUT):
            poll = select.poll()
            poll.register(self.pgconn.socket, events)
            polls[events] = poll.poll
        return polls

    def has_input(self) -> bool:
        """Return whether the server has closed this idle connection or has sent data on it."""
        return bool(self.polls[select.POLLIN](0))

    def run(self, sql: str, values: list[Any], *, until: float | None = None) -> Found:
        """Run a statement, which the server parses only once per connection.

        Raises psycopg.Error. `until` is a time on the monotonic clock. If it is given,
        raises MustWait when the server does not answer by that time, when the connection fails, or
        when the statement would need a cursor.
        """
        call = self.call(sql, values, until)
        if call is None:
            if until is not None:
                raise MustWait
            cursor = psycopg.ClientCursor(self)
            cursor.execute(sql, values)
            return cursor.fetchall() if cursor.description else [], cursor.rowcount
        if self.begins or self.later:
            [result] = self.together([call], until)
        else:
            with self.closed_on_failure(until):
                self.pgconn.send_query_prepared(*call)
                result = self.result(until)
            self.check(result)
        if result.status == ExecStatus.COMMAND_OK:
            return [], result.command_tuples or 0
        self.adapter.set_pgresult(result)
        rows = self.adapter.load_rows(0, result.ntuples, tuple)
        self.adapter.set_pgresult(None)  # frees the result's memory
        return rows, len(rows)

    def run_many(self, sql: str, rows: list[list[Any]]) -> None:
        """Run a statement for each list of values, in one round trip. Raises psycopg.Error."""
        calls = [self.call(sql, values, None) for values in rows]
        if None in calls:
            psycopg.ClientCursor(self).executemany(sql, rows)
        else:
            self.together([call for call in calls if call])

    def run_later(self, sql: str, values: list[Any]) -> None:
        """Run a statement in the same round trip as the next statement or COMMIT.

        If the statement fails, the next statement or COMMIT raises the error. Outside a
        transaction, the statement runs immediately, because there may be no next statement or
        COMMIT.
        """
        call = None if self.autocommit else self.call(sql, values, None)
        if call is None:
            self.run(sql, values)
        else:
            self.later.append(call)

    def wait(self, gen: Generator[Any, Any, ResultT], *options: Any, **named: Any) -> ResultT:
        """Run the queued statements before psycopg itself uses the connection.

        Like `check`, closes the connection if the server accepts no writes.
        """
        if self.later:
            self.together([])
        try:
            return super().wait(gen, *options, **named)
        except errors.ReadOnlySqlTransaction:
            self.close()
            raise

    def commit(self) -> None:
        """Commit in the same round trip as the queued statements. Raises psycopg.Error."""
        if self.later:
            self.together([], commits=True)
        else:
            super().commit()

    def rollback(self) -> None:
        """Discard the queued statements and roll back. Raises psycopg.Error."""
        self.later.clear()
        super().rollback()

    @property
    def begins(self) -> bool:
        """Whether the next statement begins a transaction."""
        idle = self.pgconn.transaction_status == TransactionStatus.IDLE
        return idle and not self.autocommit

    def call(self, sql: str, values: list[Any], until: float | None) -> Call | None:
        """Prepare a statement if necessary, and convert its values.

        Returns None if the statement is new and the connection has already prepared MOST
        statements.
        """
        dumped = self.adapter.dump_sequence(values, FORMATS[: len(values)])
        known = sql, self.adapter.types
        name = self.names.get(known)
        if name is None:
            if len(self.names) == MOST:
                return None
            name = b"own_%d" % len(self.names)
            with self.closed_on_failure(until):
                self.pgconn.send_prepare(name, with_numbers(sql).encode(), self.adapter.types)
                result = self.result(until)
            self.check(result)
            self.names[known] = name
        return name, dumped, self.adapter.formats

    def together(
        self, calls: list[Call], until: float | None = None, *, commits: bool = False
    ) -> list[PGresult]:
        """Run `later` and then `calls` in one round trip. Returns the results of `calls`.

        Sends BEGIN first if necessary, and COMMIT last if `commits` is true. After an error, the
        server skips the remaining statements, including COMMIT.
        """
        every, begins = [*self.later, *calls], self.begins
        self.later.clear()
        with self.closed_on_failure(until):
            self.pgconn.enter_pipeline_mode()
            if begins:
                self.pgconn.send_query_params(b"BEGIN", None)
            for call in every:
                self.pgconn.send_query_prepared(*call)
            if commits:
                self.pgconn.send_query_params(b"COMMIT", None)
            self.pgconn.pipeline_sync()
            results = [self.result(until) for _ in range(begins + len(every) + commits)]
            self.result(until)  # the result of pipeline_sync
            self.pgconn.exit_pipeline_mode()
        for result in results:
            self.check(result)
        return results[len(results) - len(calls) - commits : len(results) - commits]

    def result(self, until: float | None) -> PGresult:
        """Wait for the next pending result, which may be an error."""
        while self.pgconn.flush():  # a long parameter may not fit into the socket's buffer
            self.wait_for(select.POLLIN | select.POLLOUT, until)
        result = self.next_result(until)
        assert result
        while self.next_result(until):
            pass
        return result

    def next_result(self, until: float | None) -> PGresult | None:
        """Return the current statement's next result, or None after its last one.

        Waits for the socket first, because libpq's own wait has no timeout.
        """
        while self.pgconn.is_busy():
            self.wait_for(select.POLLIN, until)
        return self.pgconn.get_result()

    def wait_for(self, events: int, until: float | None) -> None:
        """Wait until the socket is ready, and read the data that has arrived.

        Raises MustWait if the socket is not ready by `until`.
        """
        left = None if until is None else max(0.0, until - time.monotonic()) * 1000
        if not self.polls[events](left):
            raise MustWait
        self.pgconn.consume_input()

    @contextmanager
    def closed_on_failure(self, until: float | None) -> Iterator[None]:
        """Close the connection if the block fails, because pending results may still arrive.

        If `until` is given and the connection fails, raises MustWait.
        """
        try:
            yield
        except BaseException as error:
            self.close()
            if until is not None and isinstance(error, psycopg.OperationalError):
                raise MustWait from error
            raise

    def check(self, result: PGresult) -> None:
        """Raise the error that a statement's result reports, if any.

        Closes the connection if its prepared statements are no longer valid: a migration may have
        changed a column, or a pooler may have switched sessions. Also closes it if the server
        accepts no writes, because a new connection may reach another server or detect an outage.
        """
        if result.status in (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK):
            return
        error = errors.error_from_result(result)
        if isinstance(error, OBSOLETE):
            self.close()
        raise error


@lru_cache(1_024)
def with_numbers(sql: str) -> str:
    """Convert a statement to PostgreSQL's own format, with numbered parameters."""
    numbers = count(1)
    return sub("%[%s]", lambda found: "%" if found[0] == "%%" else f"${next(numbers)}", sql)
