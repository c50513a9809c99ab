"""What a worker does if it cannot take its liveness lock, or loses the lock in an outage."""

import os
from collections.abc import Iterator
from types import SimpleNamespace
from urllib.parse import urlsplit

import psycopg
import pytest
from django.conf import settings
from django.db import connection

from config.runtime import liveness
from config.runtime.liveness import ME, NAMESPACE, DatabaseLife
from tests.servers.proxy import Proxy

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(settings.EMBEDDED, reason="the embedded default has no server"),
]


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    """A proxy between the test database and the connection that holds a worker's lock."""
    with Proxy(urlsplit(os.environ["TEST_DATABASE_URL"]).port or 5432) as proxy:
        there = connection.get_connection_params() | {"host": "127.0.0.1", "port": proxy.port}
        through = SimpleNamespace(get_connection_params=lambda: there)
        monkeypatch.setattr(liveness, "connection", through)
        yield proxy
        proxy.recover()
        liveness.outage.under_way = False


def test_a_lock_that_cannot_be_taken_again_starts_an_outage(proxy: Proxy) -> None:
    """If no outage were recorded, each of the worker's tasks would wait for the database."""
    life = DatabaseLife()
    life.hold()
    proxy.fail("cut")
    with pytest.raises(psycopg.OperationalError, match="connection failed"):
        life.hold()
    assert liveness.outage.under_way
    proxy.recover()
    life.hold()


def test_a_lock_that_cannot_be_taken_at_startup_starts_no_outage(proxy: Proxy) -> None:
    """The worker does not start, and says why."""
    proxy.fail("cut")
    with pytest.raises(psycopg.OperationalError, match="connection failed"):
        DatabaseLife().hold()
    assert not liveness.outage.under_way


def test_a_worker_that_cannot_take_its_lock_never_counts_as_holding_it(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise, other workers would take over the claims of a worker that is alive."""
    there = liveness.connection.get_connection_params()
    hasty = SimpleNamespace(
        get_connection_params=lambda: there | {"options": "-c lock_timeout=100ms"}
    )
    monkeypatch.setattr(liveness, "connection", hasty)
    life = DatabaseLife()
    with psycopg.connect(**there, autocommit=True) as other:
        other.execute("SELECT pg_advisory_lock(%s, %s)", (NAMESPACE, int(ME)))
        for _ in range(2):
            with pytest.raises(psycopg.errors.LockNotAvailable):
                life.hold()
    life.hold()
    life.hold()
