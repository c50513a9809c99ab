"""Limits hold under many concurrent clients, and each request counts against its real client."""

import time
import zlib
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle
from typing import Any

import pytest
import requests

from accounts.models import Plan, Usage
from chatbots.models import Chatbot
from config.api import limits
from config.api.errors import TooManyRequests
from conversations.models import Message
from tests import counters
from tests.conftest import Api
from tests.factories.conversations import ThreadFactory
from tests.servers.processes import Web

CLIENTS = 50
LONG = 86_400  # seconds; a window of this length outlasts the test


def at_once(call: Callable[[], Any], times: int, clients: int = CLIENTS) -> list[Any]:
    """Make this many calls, distributed over parallel clients, and return the results."""
    with ThreadPoolExecutor(clients) as pool:
        return [future.result() for future in [pool.submit(call) for _ in range(times)]]


@pytest.mark.proves("Limits/address", "Limits/user", "Bodies/rate-limit")
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    "limit", ["RATE_LIMIT_IP", pytest.param("RATE_LIMIT_USER", marks=pytest.mark.slow)]
)
def test_exactly_the_allowed_number_of_concurrent_requests_passes(api: Api, limit: str) -> None:
    rates = {"RATE_LIMIT_IP": "off", "RATE_LIMIT_USER": "off"} | {limit: f"120/{LONG}s"}
    with Web(**rates) as web:
        headers = {"Authorization": f"Bearer {api.key}"}
        url = f"{web.address}/api/v1/chatbots"
        answers = at_once(lambda: requests.get(url, headers=headers, timeout=30), 200)
    assert Counter(answer.status_code for answer in answers) == {200: 120, 429: 80}
    for answer in answers:
        if answer.status_code == 429:
            refusal = answer.json()
            later = refusal.pop("retryAfter")
            assert answer.headers["Retry-After"] == str(later)
            assert 1 <= later <= LONG
            assert refusal == {
                "success": False,
                "message": "too many requests",
                "limit": 120,
                "remaining": 0,
                "windowSeconds": LONG,
            }


def minutes(key: object, begun: float, ended: float) -> int:
    """Count a key's one-minute windows that overlap the span between two times.

    The windows start at the same second of every minute. The key determines that second.
    """
    grid = zlib.crc32(str(key).encode())
    return (int(ended) - grid) // 60 - (int(begun) - grid) // 60 + 1


@pytest.mark.proves("Limits/messages", "Limits/quota")
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("field", "code"),
    [
        pytest.param("messages_per_minute", None, marks=pytest.mark.slow),
        pytest.param("ai_replies_per_minute", None, marks=pytest.mark.slow),
        ("monthly_messages", "MESSAGES_LIMIT_REACHED"),
    ],
)
def test_a_hundred_concurrent_sends_store_only_what_the_limits_allow(
    api: Api, chatbot: Chatbot, field: str, code: str | None
) -> None:
    Plan.objects.filter(pk=chatbot.account.plan_id).update(**{field: 10})
    threads = [ThreadFactory(chatbot=chatbot) for _ in range(4)]
    with Web() as web:
        headers = {"Authorization": f"Bearer {api.key}"}
        chatting = f"{web.address}/api/v1/chatting/{chatbot.pk}"
        urls = cycle([f"{chatting}/thread/{thread.pk}/message" for thread in threads])

        def send() -> Any:
            return requests.post(next(urls), json={"content": "Hi"}, headers=headers, timeout=60)

        begun = time.time()
        answers = at_once(send, 100)
        ended = time.time()
    statuses = Counter(answer.status_code for answer in answers)
    windows = 1 if field == "monthly_messages" else minutes(chatbot.account_id, begun, ended)
    assert set(statuses) == {200, 429}
    assert 10 <= statuses[200] <= 10 * windows
    assert Message.objects.filter(message_type="USER_MESSAGE").count() == statuses[200]
    assert Usage.objects.get().messages == statuses[200]
    assert {answer.json().get("code") for answer in answers if answer.status_code == 429} == {code}


@pytest.mark.slow
@pytest.mark.proves("Codes/CHATBOT_LIMIT_REACHED")
@pytest.mark.django_db(transaction=True)
def test_concurrent_creations_stop_at_the_quota(api: Api, chatbot: Chatbot) -> None:
    Plan.objects.filter(pk=chatbot.account.plan_id).update(max_chatbots=2)
    names = iter(range(100))
    with Web() as web:
        headers = {"Authorization": f"Bearer {api.key}"}
        url = f"{web.address}/api/v1/chatbots/account/{chatbot.account_id}/create-chatbot"

        def create() -> Any:
            body = {"name": f"Bot {next(names)}", "description": "new"}
            return requests.post(url, json=body, headers=headers, timeout=60)

        answers = at_once(create, 100)
    outcomes = Counter((answer.status_code, answer.json().get("code")) for answer in answers)
    assert outcomes == {(200, None): 1, (403, "CHATBOT_LIMIT_REACHED"): 99}
    assert Chatbot.objects.count() == 2


def test_only_what_was_counted_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time", lambda: 1_800_000_000.0)  # no window ends during the test
    messages, replies = ("given", "back", (4, 60)), ("replies", "back", (2, 60))
    for _ in range(5):
        with pytest.raises(ZeroDivisionError), limits.taken(messages, replies):
            raise ZeroDivisionError
    with limits.taken(messages, replies) as give_back:
        give_back("replies")
        give_back("replies")
    for _ in range(2):
        with limits.taken(messages, replies):
            pass
    for _ in range(3):
        with pytest.raises(TooManyRequests) as refusal, limits.taken(messages, replies):
            pass
        assert refusal.value.limit == 2
    with limits.taken(messages, ("replies", "back", None)):
        pass
    with pytest.raises(TooManyRequests) as refusal:
        limits.count(messages, replies)
    assert refusal.value.limit == 4


@pytest.mark.parametrize("key", [f"caller {number}" for number in range(12)])
def test_retry_after_is_the_time_until_the_next_window(
    monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    """A retry succeeds at the announced time, but not 1.25 seconds earlier."""
    now = 1_800_000_007.25
    monkeypatch.setattr("time.time", lambda: now)
    limits.count(("window", key, (1, 60)))
    with pytest.raises(TooManyRequests) as refusal:
        limits.count(("window", key, (1, 60)))
    now += refusal.value.retry_after - 1.25
    with pytest.raises(TooManyRequests):
        limits.count(("window", key, (1, 60)))
    now += 1.25
    limits.count(("window", key, (1, 60)))


@pytest.mark.proves("Limits/address")
@pytest.mark.django_db(transaction=True)
def test_a_forged_address_does_not_start_another_window() -> None:
    counters.forget()
    numbers = iter(range(200))
    with Web(RATE_LIMIT_IP=f"20/{LONG}s") as web:

        def call() -> int:
            spoofed = {"X-Forwarded-For": f"198.51.100.{next(numbers)}"}
            return requests.get(f"{web.address}/api/x", headers=spoofed, timeout=30).status_code

        assert Counter(at_once(call, 200)) == {404: 20, 429: 180}
