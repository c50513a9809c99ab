"""Prepared statements run directly on libpq. Errors and transactions behave as with a cursor."""

import datetime
import os
import threading
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import psycopg
import pytest
from django.conf import settings
from django.db import connection as database

from config.database.inline import MustWait
from config.database.postgresql import connection as module
from config.database.postgresql.connection import Connection
from tests.servers.proxy import Proxy

pytestmark = [
    pytest.mark.skipif(settings.EMBEDDED, reason="there is no PostgreSQL"),
    pytest.mark.django_db(transaction=True),
]
NOW = datetime.datetime(2026, 3, 1, 12, tzinfo=datetime.UTC)


@pytest.fixture
def connection() -> Any:
    """Open a connection with an empty temporary table."""
    parameters = {**database.get_connection_params(), "autocommit": True}
    with Connection.connect(**parameters) as opened:
        opened.execute("CREATE TEMPORARY TABLE note (id int PRIMARY KEY, text text NOT NULL)")
        yield opened


def notes(connection: Connection) -> list[Any]:
    return connection.run("SELECT id, text FROM note ORDER BY id", [])[0]


@pytest.mark.parametrize(
    ("sql", "values", "expected"),
    [
        ("SELECT 1", [], [(1,)]),
        ("SELECT %s::uuid", [UUID(int=7)], [(UUID(int=7),)]),
        ("SELECT %s::timestamptz", [NOW], [(NOW,)]),
        ("SELECT %s::text, 'a' LIKE '%%'", ["5 %s"], [("5 %s", True)]),
        ("SELECT %s::text IS NULL", [None], [(True,)]),
        ("SELECT %s + 1", [2**40], [(2**40 + 1,)]),
        ("SELECT g FROM generate_series(1, %s) g", [3], [(1,), (2,), (3,)]),
        ("SELECT 1 = ANY(%s)", [[1, 2]], [(True,)]),
    ],
)
def test_rows_are_read_as_by_a_cursor(
    connection: Connection, sql: str, values: list[Any], expected: list[Any]
) -> None:
    for _ in range(2):  # prepared, then run again
        assert connection.run(sql, values) == (expected, len(expected))
    assert connection.execute(sql.replace("%%", "%") if not values else sql, values).fetchall()


def test_a_write_reports_the_number_of_rows(connection: Connection) -> None:
    insert = "INSERT INTO note VALUES (%s, %s), (%s, %s)"
    assert connection.run(insert, [1, "a", 2, "b"]) == ([], 2)
    assert connection.run("UPDATE note SET text = %s WHERE id > %s", ["c", 1]) == ([], 1)
    assert notes(connection) == [(1, "a"), (2, "c")]


def test_a_value_larger_than_the_buffers_of_the_connection_is_sent_whole(
    connection: Connection,
) -> None:
    text = "x" * 30_000_000
    assert connection.run("SELECT %s::text", [text])[0] == [(text,)]


@pytest.mark.parametrize("autocommit", [True, False])
def test_an_error_is_raised_as_by_a_cursor(connection: Connection, autocommit: bool) -> None:
    connection.autocommit = autocommit
    insert = "INSERT INTO note VALUES (%s, %s)"
    connection.run(insert, [1, "a"])
    if not autocommit:
        connection.commit()
    with pytest.raises(psycopg.errors.UniqueViolation, match="note_pkey") as raised:
        connection.run(insert, [1, "b"])
    assert raised.value.diag.constraint_name == "note_pkey"
    errors = psycopg.errors
    with pytest.raises(errors.UndefinedTable if autocommit else errors.InFailedSqlTransaction):
        connection.run("SELECT 1 FROM missing", [])
    connection.rollback()
    assert notes(connection) == [(1, "a")]


def test_the_first_statement_begins_a_transaction(connection: Connection) -> None:
    connection.autocommit = False
    connection.run("INSERT INTO note VALUES (%s, %s)", [1, "a"])
    connection.run("INSERT INTO note VALUES (%s, %s)", [2, "b"])
    assert connection.info.transaction_status == psycopg.pq.TransactionStatus.INTRANS
    connection.rollback()
    assert notes(connection) == []
    connection.rollback()


@pytest.mark.parametrize("autocommit", [True, False])
@pytest.mark.parametrize("most", [0, 500])
def test_a_statement_runs_for_many_values(
    connection: Connection, autocommit: bool, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST", most)
    connection.autocommit = autocommit
    insert, texts = "INSERT INTO note VALUES (%s, %s)", ["a", "b" * 1_000_000, "c"]
    connection.run_many(insert, [[number, text] for number, text in enumerate(texts)])
    assert notes(connection) == list(enumerate(texts))
    if not autocommit:
        connection.commit()
    with pytest.raises(psycopg.errors.UniqueViolation):
        connection.run_many(insert, [[8, "new"], [1, "taken"], [9, "not reached"]])
    connection.rollback()
    assert len(notes(connection)) in (3, 4)  # without a pipeline, each row has its own transaction


INSERT = "INSERT INTO note VALUES (%s, %s)"
Next = Callable[[Connection], object]


@pytest.mark.parametrize("most", [0, 500])
@pytest.mark.parametrize(
    "next_one",
    [
        pytest.param(lambda connection: connection.run("SELECT 1", []), id="a statement"),
        pytest.param(lambda connection: connection.run_many("SELECT %s", [[1]]), id="many"),
        pytest.param(lambda connection: connection.execute("SELECT 1"), id="a cursor"),
        pytest.param(Connection.commit, id="a commit"),
    ],
)
def test_a_waiting_statement_runs_before_the_next_one(
    connection: Connection, next_one: Next, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST", most)
    connection.autocommit = False
    connection.run_later(INSERT, [1, "first"])
    connection.run_later("UPDATE note SET text = %s", ["second"])
    next_one(connection)
    assert not connection.later
    connection.commit()
    connection.rollback()
    assert notes(connection) == [(1, "second")]


@pytest.mark.parametrize(
    "next_one",
    [
        pytest.param(lambda connection: connection.run(INSERT, [2, "b"]), id="a statement"),
        pytest.param(lambda connection: connection.execute("SELECT 1"), id="a cursor"),
        pytest.param(Connection.commit, id="a commit"),
    ],
)
def test_an_error_of_a_waiting_statement_is_raised_by_the_next_one(
    connection: Connection, next_one: Next
) -> None:
    connection.run(INSERT, [1, "a"])
    connection.autocommit = False
    connection.run_later(INSERT, [3, "lost"])
    connection.run_later(INSERT, [1, "taken"])
    with pytest.raises(psycopg.errors.UniqueViolation):
        next_one(connection)
    connection.rollback()
    assert notes(connection) == [(1, "a")]


def test_outside_a_transaction_no_statement_waits(connection: Connection) -> None:
    connection.run_later(INSERT, [1, "a"])
    assert not connection.later
    with pytest.raises(psycopg.errors.UniqueViolation):
        connection.run_later(INSERT, [1, "taken"])
    assert notes(connection) == [(1, "a")]


def test_an_error_at_the_commit_is_raised(connection: Connection) -> None:
    connection.execute(
        "CREATE TEMPORARY TABLE reply (note int REFERENCES note DEFERRABLE INITIALLY DEFERRED)"
    )
    connection.autocommit = False
    connection.run_later("INSERT INTO reply VALUES (%s)", [7])
    with pytest.raises(psycopg.errors.ForeignKeyViolation):
        connection.commit()
    connection.rollback()
    assert connection.run("SELECT * FROM reply", []) == ([], 0)


def test_a_rollback_discards_waiting_statements(connection: Connection) -> None:
    connection.autocommit = False
    connection.run_later(INSERT, [1, "a"])
    connection.rollback()
    connection.commit()
    assert notes(connection) == []


def test_statements_stay_prepared_after_a_rollback(connection: Connection) -> None:
    connection.autocommit = False
    notes(connection)
    connection.rollback()
    notes(connection)
    assert len(connection.names) == 1


def test_beyond_a_limit_statements_are_not_prepared(
    connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST", 2)
    found = [connection.run(f"SELECT {number} + %s", [1]) for number in range(5)]
    assert found == [([(number + 1,)], 1) for number in range(5)]
    assert len(connection.names) == 2


@pytest.mark.parametrize("prepared", [True, False])
def test_a_slow_server_is_not_waited_for(connection: Connection, prepared: bool) -> None:
    sleep, began = "SELECT pg_sleep(%s)", time.monotonic()
    if prepared:
        connection.run(sleep, [0.0])
    with pytest.raises(MustWait):
        connection.run(sleep, [3.0], until=time.monotonic() + 0.05)
    assert connection.closed
    assert time.monotonic() - began < 2


def test_a_silent_server_is_not_waited_for() -> None:
    with Proxy(urlsplit(os.environ["TEST_DATABASE_URL"]).port or 5432) as proxy:
        parameters = {**database.get_connection_params(), "autocommit": True}
        parameters |= {"host": "127.0.0.1", "port": proxy.port}
        with Connection.connect(**parameters) as opened:
            opened.run("SELECT 1", [])
            proxy.fail("silent")
            began = time.monotonic()
            with pytest.raises(MustWait):
                opened.run("SELECT 1", [], until=began + 0.05)
            assert time.monotonic() - began < 1
            assert opened.closed


@pytest.mark.parametrize("change", ["DEALLOCATE ALL", "ALTER TABLE note ALTER id TYPE bigint"])
def test_statements_that_are_no_longer_valid_close_the_connection(
    connection: Connection, change: str
) -> None:
    notes(connection)
    connection.execute(change)
    with pytest.raises(psycopg.Error):
        notes(connection)
    assert connection.closed


@pytest.mark.parametrize("runs", [Connection.execute, lambda self, sql: self.run(sql, [])])
def test_a_server_that_accepts_no_writes_closes_the_connection(
    connection: Connection, runs: Callable[[Connection, str], object]
) -> None:
    """The pool then opens a new connection, which may reach the new primary after a failover."""
    connection.execute("SET default_transaction_read_only = on")
    with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        runs(connection, "CREATE TABLE other ()")
    assert connection.closed


def test_a_value_that_cannot_be_sent_closes_the_connection(connection: Connection) -> None:
    connection.autocommit = False
    connection.run("SELECT %s::text", ["a"])
    connection.rollback()
    name = next(iter(connection.names.values()))
    with pytest.raises(TypeError):
        connection.together([(name, [object()], [0])], None)
    assert connection.closed


def terminate(connection: Connection) -> None:
    """End a connection's session, as a server restart does."""
    with psycopg.connect(**database.get_connection_params(), autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s, 10000)", [connection.info.backend_pid])


def test_a_session_that_is_terminated_during_a_statement_is_noticed(
    connection: Connection,
) -> None:
    assert not connection.has_input()
    ending = threading.Timer(0.2, terminate, [connection])
    ending.start()
    with pytest.raises(psycopg.OperationalError):
        connection.run("SELECT pg_sleep(%s)", [60.0])
    ending.join()
    assert connection.closed


@pytest.mark.parametrize("begun", [True, False])
def test_a_session_that_ends_before_the_commit_stores_nothing(
    connection: Connection, begun: bool
) -> None:
    connection.execute("CREATE TABLE lost (id int)")
    connection.autocommit = False
    if begun:
        connection.run("INSERT INTO lost VALUES (%s)", [1])
    connection.run_later("INSERT INTO lost VALUES (%s)", [2])
    terminate(connection)
    with pytest.raises(psycopg.OperationalError):
        connection.commit()
    assert connection.closed
    with psycopg.connect(**database.get_connection_params(), autocommit=True) as other:
        rows = other.execute("SELECT id FROM lost").fetchall()
        other.execute("DROP TABLE lost")
    assert not rows
