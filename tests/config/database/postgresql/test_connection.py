"""Prepared statements behave as they do with psycopg's cursor."""

import datetime
import time
from threading import Thread
from typing import Any
from uuid import UUID

import psycopg
import pytest
from django.conf import settings
from django.db import connection as database

from config.database.postgresql import connection as module
from config.database.postgresql.connection import Connection

pytestmark = [
    pytest.mark.skipif(settings.EMBEDDED, reason="there is no PostgreSQL"),
    pytest.mark.django_db(transaction=True),
]
NOW = datetime.datetime(2026, 3, 1, 12, tzinfo=datetime.UTC)
INSERT = "INSERT INTO note VALUES (%s, %s)"


@pytest.fixture
def connection() -> Any:
    """Open a connection with an empty temporary table."""
    parameters = {**database.get_connection_params(), "autocommit": True}
    with Connection.connect(**parameters) as opened:
        opened.execute("CREATE TEMPORARY TABLE note (id int PRIMARY KEY, text text NOT NULL)")
        yield opened


def notes(connection: Connection) -> list[Any]:
    return connection.run("SELECT id, text FROM note ORDER BY id", [])[0]


@pytest.mark.parametrize("most", [0, 500])
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
        ("SELECT length(%s)", ["x" * 5_000_000], [(5_000_000,)]),
    ],
    ids=lambda part: str(part)[:40],
)
def test_rows_are_read_as_by_a_cursor(
    connection: Connection,
    sql: str,
    values: list[Any],
    expected: list[Any],
    most: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With `most`, statements beyond a connection's limit are included."""
    monkeypatch.setattr(module, "MOST", most)
    for _ in range(2):  # prepared, then run again
        assert connection.run(sql, values) == (expected, len(expected))


def test_a_write_reports_the_number_of_rows(connection: Connection) -> None:
    insert = "INSERT INTO note VALUES (%s, %s), (%s, %s)"
    assert connection.run(insert, [1, "a", 2, "b"]) == ([], 2)
    assert connection.run("UPDATE note SET text = %s WHERE id > %s", ["c", 1]) == ([], 1)
    assert notes(connection) == [(1, "a"), (2, "c")]


def test_an_error_is_raised_as_by_a_cursor(connection: Connection) -> None:
    connection.run(INSERT, [1, "a"])
    connection.autocommit = False
    with pytest.raises(psycopg.errors.UniqueViolation, match="note_pkey") as raised:
        connection.run(INSERT, [1, "b"])
    assert raised.value.diag.constraint_name == "note_pkey"
    with pytest.raises(psycopg.errors.InFailedSqlTransaction):
        connection.run("SELECT 1", [])
    connection.rollback()
    assert notes(connection) == [(1, "a")]


def test_the_first_statement_begins_a_transaction(connection: Connection) -> None:
    connection.autocommit = False
    for number in (1, 2):
        connection.run(INSERT, [number, "a"])
    connection.rollback()
    assert notes(connection) == []
    connection.rollback()
    connection.run(INSERT, [3, "b"])
    connection.commit()
    connection.rollback()
    assert notes(connection) == [(3, "b")]


@pytest.mark.parametrize("change", ["DEALLOCATE ALL", "ALTER TABLE note ALTER id TYPE bigint"])
def test_statements_that_are_no_longer_valid_close_the_connection(
    connection: Connection, change: str
) -> None:
    notes(connection)
    connection.execute(change)
    with pytest.raises(psycopg.Error):
        notes(connection)
    assert connection.closed


@pytest.mark.parametrize("begun", [True, False])
def test_a_session_that_the_server_has_ended_is_noticed(
    connection: Connection, begun: bool
) -> None:
    connection.autocommit = not begun
    notes(connection)
    with psycopg.connect(**database.get_connection_params(), autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s, 10000)", [connection.info.backend_pid])
    for _ in range(2):
        with pytest.raises(psycopg.OperationalError):
            notes(connection)
        assert connection.closed


def test_other_threads_run_while_a_statement_waits(connection: Connection) -> None:
    waits, ran = Thread(target=connection.run, args=("SELECT pg_sleep(%s)", [0.5])), 0
    waits.start()
    while waits.is_alive():
        ran += 1
        time.sleep(0.01)
    assert ran > 5
