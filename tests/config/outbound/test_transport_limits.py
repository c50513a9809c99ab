"""Heads and bodies are read up to a limit. A connection is reused only after a complete body."""

from collections.abc import Callable, Iterator
from contextlib import closing

import pytest
import requests

from config.outbound.deadline import within
from config.outbound.failures import FAILURES, Reason, explain
from config.outbound.transport import pieces, session
from tests.servers import behaviors as say
from tests.servers import certificates
from tests.servers.behaviors import Behavior
from tests.servers.receiver import Receiver


@pytest.fixture
def client() -> Iterator[requests.Session]:
    with session(ca_bundle=certificates.ca_file()) as made:
        yield made


def get(client: requests.Session, url: str, *, most: int = 1_000_000) -> tuple[int, bytes]:
    with within(30), closing(client.get(url, stream=True)) as response:
        return response.status_code, b"".join(pieces(response, most=most))


@pytest.mark.parametrize("body", [say.endless_body, say.endless_chunk])
def test_a_body_is_read_up_to_its_limit_and_the_connection_is_closed(
    receiver: Receiver, client: requests.Session, body: Callable[[], Behavior]
) -> None:
    receiver.on("/", body())
    assert get(client, receiver.url(), most=100_000) == (200, b"a" * 100_000)
    receiver.on("/", say.answer(201))
    assert get(client, receiver.url())[0] == 201
    assert receiver.connections == 2


@pytest.mark.parametrize("behavior", [say.endless_trailers(), say.endless_extensions()])
def test_the_framing_of_a_body_is_read_only_up_to_a_limit(
    receiver: Receiver, client: requests.Session, behavior: Behavior
) -> None:
    """Otherwise, the peer could keep this process busy until the deadline."""
    receiver.on("/", behavior)
    with pytest.raises(FAILURES) as caught:
        get(client, receiver.url())
    assert explain(caught.value) == (
        Reason.ANSWER_NOT_UNDERSTOOD,
        "more than 256 KiB of chunk sizes and trailers",
    )


def test_a_body_that_ends_within_its_trailers_is_complete(
    receiver: Receiver, client: requests.Session
) -> None:
    whole = say.head(200, "Transfer-Encoding: chunked") + b"3\r\nabc\r\n0\r\nA: b"
    receiver.on("/", say.hang_up(whole))
    assert get(client, receiver.url()) == (200, b"abc")


@pytest.mark.parametrize("count", [0, 99, 100, 101, 3_000])
def test_a_head_may_have_any_number_of_lines(
    receiver: Receiver, client: requests.Session, count: int
) -> None:
    lines = [f"A{number}: b" for number in range(count)]
    receiver.on("/", say.answer(200, b"said", *lines))
    for _ in range(2):
        with within(30), closing(client.get(receiver.url(), stream=True)) as response:
            assert len(response.headers) == count + 1
            assert b"".join(pieces(response, most=100)) == b"said"
    assert receiver.connections == 1


def test_chunks_are_joined_and_the_connection_is_kept(
    receiver: Receiver, client: requests.Session
) -> None:
    whole = (
        say.head(200, "Transfer-Encoding: chunked")
        + b"3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nA: b\r\n\r\n"
    )
    receiver.on("/", say.steps(whole))
    assert [get(client, receiver.url()) for _ in range(2)] == [(200, b"abcde")] * 2
    assert receiver.connections == 1
