"""The database becomes unreachable while a receiver is processing a request."""

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import psycopg
import pytest
from django.conf import settings
from django.db import connection

from tests.servers.behaviors import Arrival, Step
from tests.servers.processes import wait_until
from tests.servers.receiver import Receiver
from tests.webhooks.engine.steps import OK, run, states, stored
from webhooks.models import Delivery

NOT_YET = "is not settled yet"


@pytest.fixture
def unreachable(
    receiver: Receiver, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[], AbstractContextManager[None]]]:
    """Return a context manager that makes the database unreachable.

    On PostgreSQL, it ends every other session on the database. On SQLite, it locks the database
    until the failure is logged.
    """
    name = connection.settings_dict["NAME"]

    @contextlib.contextmanager
    def locked() -> Iterator[None]:
        with contextlib.closing(sqlite3.connect(name, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            yield
            wait_until(lambda: NOT_YET in caplog.text or receiver.stopping.is_set())

    @contextlib.contextmanager
    def sessions_ended() -> Iterator[None]:
        with psycopg.connect(**connection.get_connection_params()) as other:
            other.execute(
                "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        yield

    if connection.vendor == "postgresql":
        yield sessions_ended
    else:
        monkeypatch.setitem(connection.settings_dict["OPTIONS"], "timeout", 0.01)
        yield locked


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("trusting")
@pytest.mark.proves("Delivery rules")
def test_an_accepted_delivery_is_settled_once_the_database_is_back(
    receiver: Receiver,
    delivery: Delivery,
    unreachable: Callable[[], AbstractContextManager[None]],
    caplog: pytest.LogCaptureFixture,
) -> None:
    def take(arrival: Arrival) -> Iterator[Step]:
        with unreachable():
            yield from OK(arrival)

    receiver.on("/hook", take)
    assert run() == 1
    # On PostgreSQL, the worker can connect again immediately, so settling does not fail.
    assert (NOT_YET in caplog.text) == settings.EMBEDDED
    assert (stored(delivery)["state"], states(delivery)) == ("SUCCESS", [(1, "SUCCESS")])
    assert len(receiver.arrivals) == 1
