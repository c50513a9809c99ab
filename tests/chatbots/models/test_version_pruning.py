"""The newest versions are kept, and so are the versions that replies have used."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest
from django.conf import settings
from django.db import connection, connections, transaction

from chatbots.models import Chatbot, Instruction, Version, version
from chatbots.models.version import use
from chatbots.services import instruction as instructions
from tests.factories.chatbots import InstructionFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def three_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(version, "NEWEST_KEPT", 3)


def numbers(row: Any) -> list[int]:
    """Return the numbers of a row's versions, oldest first."""
    kept = Version.objects.filter(row_id=row.pk).order_by("number")
    return list(kept.values_list("number", flat=True))


def edit(row: Instruction, *texts: str) -> None:
    for text in texts:
        instructions.update(row.chatbot_id, row.pk, {"instruction": text})


def use_current(row: Any) -> None:
    """Mark the row's current version as used by a reply.

    Asserts that the version still exists.
    """
    row.refresh_from_db()
    assert use([Version.objects.get(row_id=row.pk, number=row.version).pk])


@pytest.mark.usefixtures("three_kept")
@pytest.mark.parametrize(
    ("saved", "used", "kept"),
    [
        pytest.param(1, [], [1], id="the first one"),
        pytest.param(3, [], [1, 2, 3], id="as many as are kept"),
        pytest.param(4, [], [2, 3, 4], id="one more"),
        pytest.param(9, [], [7, 8, 9], id="many more"),
        pytest.param(9, [2], [2, 7, 8, 9], id="one used"),
        pytest.param(9, [1, 2, 5], [1, 2, 5, 7, 8, 9], id="several used"),
        pytest.param(9, [9], [7, 8, 9], id="the current one used"),
        pytest.param(5, [1, 2, 3, 4, 5], [1, 2, 3, 4, 5], id="all used"),
    ],
)
def test_the_newest_versions_and_those_that_replies_used_are_kept(
    chatbot: Chatbot, saved: int, used: list[int], kept: list[int]
) -> None:
    other = InstructionFactory(chatbot=chatbot)
    row = InstructionFactory(chatbot=chatbot)
    for number in range(1, saved + 1):
        if number > 1:
            edit(row, f"text {number}")
        if number in used:
            use_current(row)
    assert numbers(row) == kept
    assert numbers(other) == [1]


ENDS = [
    pytest.param(True, id="the first one commits"),
    pytest.param(False, id="the first one fails"),
]


@pytest.mark.usefixtures("three_kept")
@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(settings.EMBEDDED, reason="SQLite has one writer at a time")
@pytest.mark.parametrize("commits", ENDS)
def test_a_reply_waits_for_the_pruning_of_a_version_that_it_uses(
    chatbot: Chatbot, commits: bool
) -> None:
    row = InstructionFactory(chatbot=chatbot)
    oldest = Version.objects.get(row_id=row.pk)
    edit(row, "2", "3")
    with ThreadPoolExecutor(1) as reply:
        with suppress(Failed), transaction.atomic():
            edit(row, "4")
            marked = reply.submit(in_own_connection, lambda: use([oldest.pk]))
            wait_for_a_lock()
            if not commits:
                raise Failed
        assert marked.result() is not commits
    assert numbers(row) == ([2, 3, 4] if commits else [1, 2, 3])


@pytest.mark.usefixtures("three_kept")
@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(settings.EMBEDDED, reason="SQLite has one writer at a time")
@pytest.mark.parametrize("commits", ENDS)
def test_pruning_waits_for_a_reply_that_uses_the_version(chatbot: Chatbot, commits: bool) -> None:
    row = InstructionFactory(chatbot=chatbot)
    oldest = Version.objects.get(row_id=row.pk)
    edit(row, "2", "3")
    with ThreadPoolExecutor(1) as staff:
        with suppress(Failed), transaction.atomic():
            assert use([oldest.pk])
            pruned = staff.submit(in_own_connection, lambda: edit(row, "4"))
            wait_for_a_lock()
            if not commits:
                raise Failed
        pruned.result()
    assert numbers(row) == ([1, 2, 3, 4] if commits else [2, 3, 4])


class Failed(Exception):
    """Raised to roll back a transaction."""


def in_own_connection(call: Callable[[], Any]) -> Any:
    """Run a call, then close this thread's connections. Returns the call's result."""
    try:
        return call()
    finally:
        connections.close_all()


def wait_for_a_lock() -> None:
    """Wait until another session is waiting for a lock that this connection holds.

    Asserts that this happens within 30 seconds.
    """
    ends = time.monotonic() + 30
    with connection.cursor() as cursor:
        while True:
            cursor.execute("SELECT pg_stat_clear_snapshot()")
            cursor.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE pg_backend_pid() ="
                " ANY(pg_blocking_pids(pid))"
            )
            if cursor.fetchone()[0]:
                return
            assert time.monotonic() < ends, "nothing waits for a lock"
