"""Unfinished bodies share a limited amount of memory, and each address gets a part of it."""

import json
from collections.abc import Iterator
from contextlib import suppress

import pytest
import requests

from chatbots.models import Chatbot
from config.api.body import MAX_BYTES
from config.runtime.bodies import HELD, SHARE, SMALL
from tests.conftest import Api
from tests.servers.processes import Web
from tests.servers.raw import Raw, as_json

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.proves("HTTP statuses/400"),
    pytest.mark.slow,
]
UNFINISHED = 80  # bodies of nearly 1 MiB each, which together exceed the memory limit


@pytest.fixture
def web() -> Iterator[Web]:
    limits = {"RATE_LIMIT_IP": "off", "RATE_LIMIT_USER": "off"}
    with Web(WEB_WORKERS="1", TEST_BODY_TIMEOUT="8", **limits) as web:
        yield web


@pytest.fixture
def starters(api: Api, chatbot: Chatbot) -> str:
    return f"POST /api/v1/chatbots/chatbot/{chatbot.pk}/conversation-starters"


def unfinished(web: Web, api: Api, starters: str, sources: int) -> list[Raw]:
    """Send UNFINISHED bodies from `sources` different addresses, each without its last byte.

    The first part of every body is sent before the rest of any body. Together, these first parts
    fit into the memory limit.
    """
    body = b"x" * (MAX_BYTES - 1)
    part = int(0.9 * min(HELD, sources * SHARE)) // UNFINISHED
    first, rest = body[:part], body[part:]
    waiting = [Raw(web, source=f"127.0.0.{2 + number % sources}") for number in range(UNFINISHED)]
    for raw in waiting:
        raw.send(starters, *as_json(api), f"Content-Length: {MAX_BYTES}", body=first)
    for raw in waiting:
        with suppress(OSError):  # raised if the body has already been refused
            raw.socket.sendall(rest)
    return waiting


def assert_only_some_fit(waiting: list[Raw], room: int) -> None:
    fitting = room // (MAX_BYTES - SMALL)
    statuses = []
    for raw in waiting:
        with raw:
            status, headers, _ = raw.response()
            statuses.append((status, headers["connection"], headers.get("retry-after")))
    assert set(statuses) == {(400, "close", None), (503, "close", "1")}
    # A refused body releases its memory at once, so only the bodies that do not fit are refused.
    refused = len(waiting) - fitting
    assert refused <= statuses.count((503, "close", "1")) <= refused + 4


def test_unfinished_bodies_share_a_limited_amount_of_memory(
    web: Web, api: Api, starters: str
) -> None:
    waiting = unfinished(web, api, starters, sources=5)
    known = {"Authorization": f"Bearer {api.key}"}
    small = {"text": "small"}
    made = requests.post(web.address + starters[5:], json=small, headers=known, timeout=15)
    assert made.status_code == 200
    assert_only_some_fit(waiting, HELD)


def test_the_unfinished_bodies_of_one_address_leave_memory_to_others(
    web: Web, api: Api, starters: str
) -> None:
    waiting = unfinished(web, api, starters, sources=1)
    with Raw(web, source="127.0.0.9") as other:
        large = json.dumps({"text": "x" * 500_000}).encode()
        other.send(starters, *as_json(api), f"Content-Length: {len(large)}", body=large)
        assert other.response()[0] == 200
    assert_only_some_fit(waiting, SHARE)
