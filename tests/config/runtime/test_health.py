"""Readiness: the database is reachable, migrated and writable."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import redis
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client

from config.api import cache_outage, limits
from config.api.limits import SharedCounters
from config.runtime import health
from tests.servers.broker import REFUSALS, Broker, Fault
from tests.servers.processes import wait_until

pytestmark = pytest.mark.django_db


def ready() -> tuple[int, str, str]:
    answer = Client().get("/readyz")
    reported = answer.json()
    return answer.status_code, reported["status"], reported["parts"]["database"]


def test_a_complete_service_is_ready() -> None:
    assert ready() == (200, "ok", "ok")


@contextmanager
def read_only(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Make the database session or, on SQLite, the database file read-only."""
    if connection.vendor == "sqlite":
        with monkeypatch.context() as patch:  # faked, because root may write to any file
            patch.setattr(health.os, "access", lambda *_: False)
            yield
        return
    with connection.cursor() as cursor:
        cursor.execute("SET default_transaction_read_only = on")
        try:
            yield
        finally:
            cursor.execute("SET default_transaction_read_only = off")


@pytest.mark.django_db(transaction=True)
def test_a_service_is_not_ready_while_its_database_is_read_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with read_only(monkeypatch):
        reported = ready()
    assert reported == (503, "unavailable", "cannot be written")
    assert ready() == (200, "ok", "ok")


def test_a_service_is_not_ready_while_a_migration_is_missing() -> None:
    MigrationRecorder(connection).record_unapplied("webhooks", "0001_initial")
    assert ready() == (503, "unavailable", "lacks migrations")


@pytest.mark.parametrize(("sending", "reported"), [(True, "on"), (False, "off")])
def test_held_emails_and_deliveries_are_reported_and_the_service_stays_ready(
    settings: Any, sending: bool, reported: str
) -> None:
    settings.SENDING = sending
    answer = Client().get("/readyz")
    assert (answer.status_code, answer.json()["sending"]) == (200, reported)


@pytest.mark.parametrize("refusal", REFUSALS)
def test_redis_that_refuses_writes_is_unavailable(
    monkeypatch: pytest.MonkeyPatch, refusal: Fault
) -> None:
    monkeypatch.setattr(cache_outage, "CACHE_ERRORS", (redis.RedisError, OSError))
    with Broker() as broker:
        monkeypatch.setattr(limits, "counters", SharedCounters(broker.url, prefix="test"))
        assert redis_parts() == {"ok"}
        with refusal(broker):
            assert redis_parts() == {"unavailable"}
        wait_until(lambda: redis_parts() == {"ok"})


def redis_parts() -> set[str]:
    parts = Client().get("/readyz").json()["parts"]
    return {parts["cache"], parts["broker"]}
