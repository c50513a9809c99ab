"""A connection that runs prepared statements itself, without psycopg's cursors.

For a short statement, a cursor takes twice the processor time.
"""

import select
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import count
from re import sub
from typing import Any

import psycopg
from psycopg import errors
from psycopg.adapt import PyFormat, Transformer
from psycopg.pq import ExecStatus, TransactionStatus
from psycopg.pq.abc import PGresult

from config.database.inline import MustWait

MOST = 500  # statements that a connection prepares; further ones run on a cursor
MOST_PARAMETERS = 65_535  # PostgreSQL's own limit
FORMATS = [PyFormat.AUTO] * MOST_PARAMETERS
Named = tuple[str, tuple[int, ...] | None]  # a statement, and the types of its parameters
Call = tuple[bytes, Sequence[Any], Sequence[Any]]  # a name, and the parameters with their formats
Found = tuple[list[tuple[Any, ...]], int]  # rows, and how many were read or changed


class Connection(psycopg.Connection[Any]):
    """Runs prepared statements with as few calls to libpq as possible."""

    @cached_property
    def names(self) -> dict[Named, bytes]:
        """The server's names of the statements that this connection has prepared."""
        return {}

    @cached_property
    def adapter(self) -> Any:  # a Transformer, which psycopg does not type
        """Converts parameters and results. It keeps the converter of each type."""
        return Transformer(self)

    @cached_property
    def polls(self) -> Mapping[int, Callable[[float | None], list[tuple[int, int]]]]:
        """Functions that wait for the server's socket, by event."""
        polls = {}
        for events in (select.POLLIN, select.POLLIN | select.POLLOUT):
            poll = select.poll()
            poll.register(self.pgconn.socket, events)
            polls[events] = poll.poll
        return polls

    def has_input(self) -> bool:
        """Return whether the server of an idle connection has sent something, or has closed it."""
        return bool(self.polls[select.POLLIN](0))

    def run(self, sql: str, values: list[Any], *, within: float | None = None) -> Found:
        """Run a statement that the server parses and plans only once per connection.

        Raises psycopg.Error. If the server does not answer `within` seconds, closes the connection
        and raises MustWait.
        """
        call = self.call(sql, values, within)
        if call is None:
            cursor = psycopg.ClientCursor(self)
            cursor.execute(sql, values)
            return cursor.fetchall() if cursor.description else [], cursor.rowcount
        if self.begins:
            [result] = self.together([call], within)
        else:
            self.pgconn.send_query_prepared(*call)
            result = checked(self.result(within))
        if result.status == ExecStatus.COMMAND_OK:
            return [], result.command_tuples or 0
        self.adapter.set_pgresult(result)
        return self.adapter.load_rows(0, result.ntuples, tuple), result.ntuples

    def run_many(self, sql: str, rows: list[list[Any]]) -> None:
        """Run a statement for each list of values, in one round trip. Raises psycopg.Error."""
        calls = [self.call(sql, values, None) for values in rows]
        if None in calls:
            psycopg.ClientCursor(self).executemany(sql, rows)
        else:
            self.together([call for call in calls if call], None)

    @property
    def begins(self) -> bool:
        """Whether the next statement begins a transaction."""
        idle = self.pgconn.transaction_status == TransactionStatus.IDLE
        return idle and not self.autocommit

    def call(self, sql: str, values: list[Any], within: float | None) -> Call | None:
        """Prepare a statement, unless it is, and convert its values. Returns None beyond MOST."""
        dumped = self.adapter.dump_sequence(values, FORMATS[: len(values)])
        known = sql, self.adapter.types
        name = self.names.get(known)
        if name is None:
            if len(self.names) == MOST:
                return None
            name = b"own_%d" % len(self.names)
            self.pgconn.send_prepare(name, with_numbers(sql).encode(), self.adapter.types)
            checked(self.result(within))
            self.names[known] = name
        return name, dumped, self.adapter.formats

    def together(self, calls: list[Call], within: float | None) -> list[PGresult]:
        """Run statements in one round trip, and BEGIN before them if necessary."""
        begins = self.begins
        self.pgconn.enter_pipeline_mode()
        if begins:
            self.pgconn.send_query_params(b"BEGIN", None)
        for call in calls:
            self.pgconn.send_query_prepared(*call)
        self.pgconn.pipeline_sync()
        results = [self.result(within) for _ in range(begins + len(calls))]
        self.result(within)  # of the synchronization
        self.pgconn.exit_pipeline_mode()
        return [checked(result) for result in results][begins:]

    def result(self, within: float | None) -> PGresult:
        """Wait for the result of the next statement that was sent, which may be an error."""
        server = self.pgconn
        while server.flush():  # a long parameter does not fit into the socket's buffer
            self.wait_for(select.POLLIN | select.POLLOUT, within)
        while server.is_busy():
            self.wait_for(select.POLLIN, within)
        result = server.get_result()
        assert result
        while server.get_result():
            pass
        return result

    def wait_for(self, events: int, within: float | None) -> None:
        """Wait until the server's socket is ready, and read what has arrived. Raises MustWait."""
        try:
            if self.polls[events](within and within * 1000):
                return self.pgconn.consume_input()
        except BaseException:  # an answer may still come
            self.close()
            raise
        self.close()
        raise MustWait


def checked(result: PGresult) -> PGresult:
    """Return a statement's result. Raises the error that it reports."""
    if result.status not in (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK):
        raise errors.error_from_result(result)
    return result


@lru_cache(1_024)
def with_numbers(sql: str) -> str:
    """Convert a statement to PostgreSQL's own format, with numbered parameters."""
    numbers = count(1)
    return sub("%[%s]", lambda found: "%" if found[0] == "%%" else f"${next(numbers)}", sql)
