"""Limits on pages and forms, which django-ratelimit counts."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from django.test import Client

from config import page_limits
from config.api.errors import TooManyRequests
from config.page_limits import PageLimit
from tests import counters

pytestmark = [pytest.mark.proves("Limits"), pytest.mark.django_db]


@pytest.fixture(autouse=True)
def still_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Freeze the clock, so that no window ends during a test."""
    counters.forget()
    monkeypatch.setattr("time.time", lambda: 1_800_000_000.0)


def test_the_public_documents_share_one_limit_for_each_address(settings: Any) -> None:
    settings.RATE_LIMIT_IP = (2, 600)
    ours, other = Client(REMOTE_ADDR="2001:db8::1"), Client(REMOTE_ADDR="192.0.2.7")
    assert [ours.get(path).status_code for path in ("/docs", "/openapi.json")] == [200, 200]
    for path in ("/docs", "/openapi.json"):
        refused = Client(REMOTE_ADDR="2001:db8::2").get(path)
        body = refused.json()
        assert refused.status_code == 429
        assert refused["Retry-After"] == str(body["retryAfter"])
        assert (body["limit"], body["remaining"], body["windowSeconds"]) == (2, 0, 600)
        assert other.get(path).status_code == 200
    settings.RATE_LIMIT_IP = None
    assert ours.get("/docs").status_code == 200


def test_the_page_for_invitations_is_limited_for_each_address() -> None:
    ours = Client(REMOTE_ADDR="192.0.2.1")
    statuses = [ours.get("/invitation?token=guess").status_code for _ in range(61)]
    assert statuses == [404] * 60 + [429]
    assert "Too many requests" in ours.get("/invitation").text
    assert Client(REMOTE_ADDR="192.0.2.2").get("/invitation").status_code == 404


@pytest.mark.parametrize("address", ["", "unix:", "fe80::1%eth0", "::ffff:192.0.2.1"])
def test_any_peer_address_can_be_counted(address: str) -> None:
    assert Client(REMOTE_ADDR=address).get("/docs").status_code == 200


def test_simultaneous_attempts_never_exceed_a_limit_and_successes_are_not_counted() -> None:
    limits, together = PageLimit("any", "someone", (5, 900)), Barrier(8)

    def attempt(number: int) -> bool:
        together.wait(30)
        try:
            give_back = page_limits.take(limits)
        except TooManyRequests:
            return False
        if number % 4 == 0:  # every fourth attempt would succeed
            give_back()
            return False
        return True

    failed = 0
    with ThreadPoolExecutor(8) as pool:
        for begin in range(0, 64, 8):
            failed += sum(pool.map(attempt, range(begin, begin + 8)))
    assert failed == 5
    with pytest.raises(TooManyRequests) as refusal:
        page_limits.take(limits)
    assert (refusal.value.limit, refusal.value.window) == (5, 900)
    assert 1 <= refusal.value.retry_after <= 900


def test_a_call_counts_against_all_limits_or_against_none() -> None:
    wide, narrow = PageLimit("wide", "x", (3, 60)), PageLimit("narrow", "x", (1, 60))
    page_limits.take(wide, narrow)
    for _ in range(5):
        with pytest.raises(TooManyRequests):
            page_limits.take(wide, narrow)
    for _ in range(2):
        page_limits.take(wide)
    with pytest.raises(TooManyRequests):
        page_limits.take(wide)
