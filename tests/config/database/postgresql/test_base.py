"""The connection pool: when connections are replaced, and how their sessions are configured."""

import os
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.conf import settings
from django.db import InternalError, OperationalError, connection, transaction

from accounts.models import Plan
from config.api.errors import as_api_error
from config.database.availability import server
from config.database.prepared import prepare
from tests.factories.accounts import PlanFactory

pytestmark = [
    pytest.mark.skipif(settings.EMBEDDED, reason="the embedded default has no pool"),
    pytest.mark.django_db(transaction=True),
]
PLANS = prepare(lambda: Plan.objects.values_list("pk"))


def ask(_: int = 0) -> bool:
    """Read from the database in one request. Returns whether that succeeded."""
    try:
        PLANS.rows()
        return True
    except OperationalError as error:
        assert as_api_error(error).status_code == 503
        return False
    finally:
        connection.close()


def test_a_full_pool_is_not_an_outage(monkeypatch: pytest.MonkeyPatch) -> None:
    connection.close()
    connection.close_pool()  # other tests of this process may still hold some of its connections
    assert ask()
    pool = connection.pool
    with ExitStack() as taken:
        for _ in range(pool.max_size):
            taken.callback(pool.putconn, pool.getconn())
        monkeypatch.setattr(pool, "timeout", 0.3)
        for _ in range(2):
            began = time.monotonic()
            assert not ask()
            assert time.monotonic() - began >= 0.3, "a connection could have become free"
    monkeypatch.undo()
    assert not server.is_down
    assert ask()


def test_a_new_connection_replaces_one_that_accepts_no_writes() -> None:
    assert ask()
    with pytest.raises(InternalError) as raised, connection.cursor() as cursor:
        cursor.execute("SET default_transaction_read_only = on")
        cursor.execute("DELETE FROM accounts_plan")
    assert as_api_error(raised.value).status_code == 503
    connection.close()
    for _ in range(connection.pool.max_size):
        Plan.objects.filter(pk=None).update(monthly_messages=1)
        connection.close()


def test_statements_run_without_being_prepared(settings: Any) -> None:
    """This is for a pooler that may run each transaction in a different session."""
    settings.PREPARED_STATEMENTS = False
    plan = PlanFactory()
    with transaction.atomic():
        assert plan.pk in [pk for (pk,) in PLANS.rows()]


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kathmandu"])
def test_times_are_aware_whatever_the_sessions_zone(zone: str) -> None:
    moment = datetime(2026, 7, 1, 12, 0, 0, 123_456, UTC)
    connection.run_prepared("SELECT set_config('TimeZone', %s, false)", [zone], reads=True)
    [[found]], _ = connection.run_prepared("SELECT %s::timestamptz", [moment], reads=True)
    connection.run_prepared("SELECT set_config('TimeZone', 'UTC', false)", [], reads=True)
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
