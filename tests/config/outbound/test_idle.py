"""Threads share idle connections, whose number is limited across all hosts.

A connection that has been idle too long is closed.
"""

import io
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from functools import partial

import pytest
import requests

from config.outbound import idle
from config.outbound.deadline import within
from config.outbound.idle import IdleConnections
from config.outbound.transport import pieces, session
from tests.servers import behaviors as say
from tests.servers import certificates
from tests.servers.processes import wait_until
from tests.servers.receiver import Receiver

KEPT = 3


@pytest.fixture
def client() -> Iterator[requests.Session]:
    with session(ca_bundle=certificates.ca_file(), kept=KEPT) as made:
        yield made


@pytest.fixture
def receivers() -> Iterator[list[Receiver]]:
    with ExitStack() as stack:
        yield [stack.enter_context(Receiver(certificates.good())) for _ in range(KEPT + 1)]


def get(client: requests.Session, receiver: Receiver) -> None:
    with within(30), closing(client.get(receiver.url(), stream=True)) as response:
        assert b"".join(pieces(response, most=1_000)) == b""


def connections(client: requests.Session) -> IdleConnections:
    found: IdleConnections = client.get_adapter("https://").idle
    return found


def test_the_connection_that_was_idle_the_longest_makes_room(
    client: requests.Session, receivers: list[Receiver]
) -> None:
    for receiver in (*receivers, *reversed(receivers)):
        get(client, receiver)
    assert [receiver.connections for receiver in receivers] == [2, 1, 1, 1]


def test_connections_that_were_idle_too_long_are_closed_without_another_request(
    client: requests.Session, receivers: list[Receiver], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(idle, "LOOK", 0.01)
    monkeypatch.setattr(idle, "IDLE_SECONDS", 0.1)
    for receiver in receivers[:KEPT]:
        get(client, receiver)
    wait_until(lambda: not any(receiver._open for receiver in receivers))
    assert not connections(client).since
    get(client, receivers[0])
    wait_until(lambda: not receivers[0]._open)


def test_a_connection_with_unread_bytes_is_not_reused(
    client: requests.Session, receivers: list[Receiver]
) -> None:
    """Otherwise, the unread bytes would be taken for the response to the next request."""
    # One TLS record with two responses, the first of which fills the reader's buffer
    whole = say.head(200, length=0).ljust(io.DEFAULT_BUFFER_SIZE) + say.head(299, length=0)
    receivers[0].on("/", say.steps(whole), say.answer(500))
    get(client, receivers[0])
    with within(30), closing(client.get(receivers[0].url(), stream=True)) as response:
        assert response.status_code == 500


def test_a_closed_session_keeps_no_connection(
    client: requests.Session, receivers: list[Receiver]
) -> None:
    get(client, receivers[0])
    client.close()
    wait_until(lambda: not receivers[0]._open)
    get(client, receivers[0])
    wait_until(lambda: not receivers[0]._open)


def test_no_two_threads_get_the_same_connection(
    client: requests.Session, receivers: list[Receiver]
) -> None:
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(partial(get, client), receivers * 50))
    assert sum(len(receiver.arrivals) for receiver in receivers) == 50 * len(receivers)
    assert len(connections(client).since) <= KEPT
