"""The connection pool: when connections are checked, and how their sessions are configured."""

import os
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.db import connection, transaction

from accounts.models import Plan
from config.database.postgresql import base
from tests.factories.accounts import PlanFactory
from tests.patience import PATIENCE

pytestmark = [
    pytest.mark.skipif(settings.EMBEDDED, reason="the embedded default has no pool"),
    pytest.mark.django_db(transaction=True),
]
END = "SELECT pg_terminate_backend(%s, 10000)"


def taken() -> int:
    """Take a connection from the pool, and return the id of its server process."""
    connection.close()
    connection.ensure_connection()
    return connection.connection.info.backend_pid


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Record the server process of each connection that is checked with a round trip."""
    asked, answers = [], base.answers

    def record(pooled: Any) -> bool:
        asked.append(pooled.info.backend_pid)
        return answers(pooled)

    monkeypatch.setattr(base, "answers", record)
    return asked


def test_a_connection_is_not_checked_while_the_server_answers(
    asked: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base, "RECENT", PATIENCE)
    taken()
    asked.clear()
    assert [taken() for _ in range(3)]
    assert not asked


def test_a_connection_is_checked_after_the_server_has_been_silent(
    asked: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base, "RECENT", 0.01)
    taken()
    asked.clear()
    connection.close()
    time.sleep(0.02)
    connection.ensure_connection()
    assert asked == [connection.connection.info.backend_pid]


def test_a_connection_that_the_server_has_ended_is_never_handed_out(
    asked: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base, "RECENT", PATIENCE)
    ended = taken()
    parameters = connection.get_connection_params()
    connection.close()
    with psycopg.connect(**parameters) as other:
        assert other.execute(END, [ended]).fetchone() == (True,)
    for _ in range(3):
        assert taken() != ended
        assert Plan.objects.exists()


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kathmandu"])
def test_times_are_aware_whatever_the_sessions_zone(zone: str) -> None:
    moment = datetime(2026, 7, 1, 12, 0, 0, 123_456, UTC)
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('TimeZone', %s, false)", [zone])
        cursor.execute("SELECT %s::timestamptz", [moment])
        [found] = cursor.fetchone()
        cursor.execute("SET TimeZone TO 'UTC'")
    assert found == moment
    assert found.utcoffset() is not None
    assert found - moment == timedelta(0)


def test_the_kernel_notices_that_the_server_is_gone_while_a_request_waits() -> None:
    """With the system's defaults, a request can wait for hours for a server that has vanished."""
    connection.ensure_connection()
    number = os.dup(connection.connection.pgconn.socket)
    with socket.socket(fileno=number) as shared:
        idle = shared.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE)
        unanswered = shared.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) / 1_000
        assert shared.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
    assert idle + unanswered <= 15


def test_queries_are_not_compiled_to_machine_code() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SHOW jit")
        assert cursor.fetchone() == ("off",)


def lose_connection() -> None:
    """Close this thread's connection inside a transaction. The pool keeps the session."""
    with transaction.atomic():
        assert Plan.objects.exists()
        connection.close()
    connection.close()


def test_a_connection_that_was_lost_in_a_transaction_commits_again() -> None:
    plan = PlanFactory()
    connection.close()
    with ThreadPoolExecutor(1) as other:
        other.submit(lose_connection).result()
    for number in range(2 * connection.pool.max_size):  # enough to use every connection in the pool
        Plan.objects.filter(pk=plan.pk).update(monthly_messages=number)
        connection.close()
        assert Plan.objects.get(pk=plan.pk).monthly_messages == number
        connection.close()
