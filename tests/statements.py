"""Record the SQL statements that reach the database.

On PostgreSQL, the statements are read from a trace that the client library, libpq, writes. On
SQLite, they are passed to a trace callback. Unlike Django's query log, this also records prepared
statements, which bypass Django's cursor.
"""

import re
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from django.db import connection

# Statements that control transactions are not counted, because a test runs inside a transaction.
CONTROL = re.compile(r'\s*"?(BEGIN|COMMIT|ROLLBACK|SAVEPOINT|RELEASE)\b', re.IGNORECASE)
INSIDE = re.compile("-- ")  # prefix of FTS5's internal statements in SQLite's trace
EMPTY = ' ""'  # a query that only checks whether the server still responds

# These make PostgreSQL prefer indexes until the end of the transaction, regardless of its
# statistics. Use READ_IN_ORDER only if an index provides the query's whole order. Otherwise, it
# would penalize all plans equally, so that the statistics would decide after all.
USE_INDEXES = "SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off"
READ_IN_ORDER = USE_INDEXES + "; SET LOCAL enable_incremental_sort = off"


@contextmanager
def counted() -> Iterator[list[str]]:
    """Record the statements of this thread's connection. Read the list only after the block.

    On PostgreSQL, the block must run inside a transaction, so that the connection stays the same.
    """
    recorded: list[str] = []
    connection.ensure_connection()
    trace = sent_by_libpq if connection.vendor == "postgresql" else started_by_sqlite
    with trace(recorded):
        yield recorded
    recorded[:] = [each for each in recorded if not (CONTROL.match(each) or INSIDE.match(each))]


@contextmanager
def sent_by_libpq(recorded: list[str]) -> Iterator[None]:
    """Record the SQL of each Query and Execute message that libpq sends."""
    server = connection.connection.pgconn
    with tempfile.TemporaryFile("w+") as log:
        server.trace(log.fileno())
        try:
            yield
        finally:
            server.untrace()
        log.seek(0)
        recorded += statements_of(log)


def statements_of(log: Iterable[str]) -> Iterator[str]:
    """Yield the statements in a trace that libpq has written."""
    texts: dict[str, str] = {}  # the SQL of prepared statements, keyed by name
    bound = ""
    for line in log:
        _, side, _, message, content, *_ = [*line.rstrip("\n").split("\t"), *[""] * 4]
        if side != "F":
            continue
        first, _, rest = content.strip().partition(" ")
        if message == "Parse":
            texts[first] = rest
        elif message == "Bind":
            bound = rest.partition(" ")[0]
        elif message == "Execute":
            yield texts.get(bound, f"prepared statement {bound}")
        elif message == "Query" and content != EMPTY:
            yield content


@contextmanager
def started_by_sqlite(recorded: list[str]) -> Iterator[None]:
    """Record each statement that SQLite starts.

    SQLite also reports each step of a trigger, with the text of the statement that fired the
    trigger. To leave out these steps, ignore a statement that has the same text and values as the
    one before it. As a result, a statement that really runs twice in a row is recorded only once.
    The full-text index's internal statements, which SQLite reports as comments, are also left out.
    """
    database = connection.connection

    def record(sql: str) -> None:
        if not sql.startswith("--") and sql not in recorded[-1:]:
            recorded.append(sql)

    database.set_trace_callback(record)
    try:
        yield
    finally:
        database.set_trace_callback(None)
