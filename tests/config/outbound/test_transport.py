"""What a receiver or a model's endpoint observes of a request, and what a bad one can cause."""

import logging
import random
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any, NoReturn

import pytest
from urllib3.util import wait_for_read

from config.outbound import transport
from config.outbound.deadline import TcpSocket, within
from config.outbound.failures import FAILURES, AddressNotAllowed, Failure, Reason, explain
from config.outbound.transport import Adapter, pieces
from tests.servers import behaviors as say
from tests.servers import certificates, flooding
from tests.servers.behaviors import Arrival, Behavior, Step
from tests.servers.receiver import Receiver, hear_nothing

TIMEOUT = 1.0  # seconds; long enough to send the request before the exchange times out
SLACK = 10.0  # seconds that a busy machine may add
CHUNKED = say.head(200, "Transfer-Encoding: chunked")


@pytest.fixture(params=["http", "https"])
def receiver(request: pytest.FixtureRequest) -> Iterator[Receiver]:
    with Receiver(certificates.good() if request.param == "https" else None) as running:
        yield running


@pytest.fixture
def adapter() -> Iterator[Adapter]:
    with closing(Adapter(ca_bundle=certificates.ca_file(), kept=4)) as made:
        yield made


def post(
    adapter: Adapter,
    url: str,
    *,
    body: bytes = b"asked",
    seconds: float = 30.0,
    most: int = 1_000_000,
) -> tuple[int, bytes]:
    with within(seconds), closing(adapter.post(url, body=body, headers={})) as response:
        return response.status_code, b"".join(pieces(response, most=most))


def failure(adapter: Adapter, url: str, **options: Any) -> Failure:
    with pytest.raises(FAILURES) as caught:
        post(adapter, url, **options)
    return explain(caught.value)


def wait_until_closed(adapter: Adapter) -> None:
    """Wait until the peer has closed the one idle connection."""
    [key] = adapter.poolmanager.pools.keys()
    queue: Any = adapter.poolmanager.pools[key].pool
    assert wait_for_read(queue.queue[-1].sock, timeout=60)


# Connections


def test_a_connection_serves_several_requests_in_turn(receiver: Receiver, adapter: Adapter) -> None:
    receiver.on("/", say.answer(200, b"yes"), say.early_hints(204), say.answer(500, b"no" * 50_000))
    for answer in ((200, b"yes"), (204, b""), (500, b"no" * 50_000), (500, b"no" * 50_000)):
        assert post(adapter, receiver.url()) == answer
    receiver.on("/", say.steps(CHUNKED + b"3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nA: b\r\n\r\n"))
    for _ in range(2):
        assert post(adapter, receiver.url()) == (200, b"abcde")
    assert receiver.connections == 1


@pytest.mark.parametrize(
    "first",
    [
        pytest.param(say.hang_up(say.head(200, length=0)), id="closed after the response"),
        pytest.param(
            say.steps(say.head(200, "Connection: close", length=0)), id="announced by a header"
        ),
        pytest.param(say.hang_up(b"HTTP/1.0 200 OK\r\n\r\nyes"), id="HTTP/1.0"),
        pytest.param(say.steps(say.head(200, length=0) + say.head(500)), id="two responses"),
    ],
)
def test_a_connection_that_cannot_be_reused_is_replaced(
    receiver: Receiver, adapter: Adapter, first: Behavior, request: pytest.FixtureRequest
) -> None:
    receiver.on("/", first, say.answer(201))
    assert post(adapter, receiver.url())[0] == 200
    if "closed after the response" in request.node.name:
        wait_until_closed(adapter)
    assert post(adapter, receiver.url())[0] == 201
    assert len(receiver.arrivals) == 2


def test_a_connection_that_was_idle_too_long_is_not_reused(
    receiver: Receiver, adapter: Adapter, monkeypatch: pytest.MonkeyPatch
) -> None:
    post(adapter, receiver.url())
    monkeypatch.setattr(transport, "IDLE_SECONDS", 0.0)
    post(adapter, receiver.url())
    assert receiver.connections == 2


@pytest.mark.parametrize("kept", [0, 1])
@pytest.mark.parametrize("end", [say.hang_up, say.reset])
def test_a_request_that_gets_no_response_is_not_sent_again(
    receiver: Receiver, adapter: Adapter, kept: int, end: Callable[[], Behavior]
) -> None:
    receiver.on("/", *[say.answer()] * kept, end())
    for _ in range(kept):
        post(adapter, receiver.url())
    assert failure(adapter, receiver.url()).reason == Reason.CONNECTION_CLOSED
    assert (receiver.connections, len(receiver.arrivals)) == (1, kept + 1)


def test_concurrent_requests_do_not_wait_and_a_few_connections_are_kept(
    receiver: Receiver, adapter: Adapter
) -> None:
    for at_once in (40, 4):
        together = threading.Barrier(at_once)

        def behavior(arrival: Arrival, together: threading.Barrier = together) -> Iterator[Step]:
            together.wait(60)
            yield say.head(200, length=0)

        receiver.on("/", behavior)
        with ThreadPoolExecutor(at_once) as threads:
            asked = [
                threads.submit(post, adapter, receiver.url(), seconds=60.0) for _ in range(at_once)
            ]
            assert [each.result() for each in asked] == [(200, b"")] * at_once
    assert receiver.connections == 40, "four were kept"


# Addresses and certificates


def test_a_connection_to_an_address_that_the_name_no_longer_has_is_not_reused(
    adapter: Adapter, monkeypatch: pytest.MonkeyPatch
) -> None:
    addresses, ask = ["127.0.0.1"], socket.getaddrinfo
    monkeypatch.setattr(
        socket, "getaddrinfo", lambda host, *args, **kwargs: ask(addresses[0], *args, **kwargs)
    )
    with Receiver() as receiver:
        url = receiver.url(host="hooks.example.com")
        post(adapter, url)
        addresses[0] = "127.0.0.2"
        assert failure(adapter, url).reason == Reason.CONNECTION_REFUSED
        assert receiver.connections == 1


def test_every_request_checks_all_addresses_before_it_is_sent(receiver: Receiver) -> None:
    judged = []

    def judge(address: Any) -> None:
        judged.append(str(address))
        if len(judged) == 3:
            raise AddressNotAllowed("enough")

    with closing(Adapter(judge=judge, ca_bundle=certificates.ca_file())) as adapter:
        for _ in range(2):
            post(adapter, receiver.url())
        assert failure(adapter, receiver.url()).reason == Reason.ADDRESS_NOT_ALLOWED
    assert (judged, len(receiver.arrivals)) == (["127.0.0.1"] * 3, 2)


def test_certificate_verification_cannot_be_disabled(adapter: Adapter) -> None:
    assert adapter.context.minimum_version is ssl.TLSVersion.TLSv1_2
    send = adapter.send
    adapter.send = lambda *args, **kwargs: send(*args, **kwargs, verify=False)  # type: ignore[method-assign]
    with Receiver(certificates.self_signed()) as receiver:
        assert failure(adapter, receiver.url()).reason == Reason.CERTIFICATE_NOT_TRUSTED
        assert receiver.arrivals == []


def test_without_a_bundle_the_certificates_of_the_system_are_trusted() -> None:
    with closing(Adapter()) as adapter, Receiver(certificates.good()) as receiver:
        assert failure(adapter, receiver.url()).reason == Reason.CERTIFICATE_NOT_TRUSTED


def test_a_connection_that_is_reset_while_connecting_is_a_failure(
    adapter: Adapter, monkeypatch: pytest.MonkeyPatch
) -> None:
    def connect(sock: socket.socket, address: Any) -> NoReturn:
        raise ConnectionResetError(104, "Connection reset by peer")

    monkeypatch.setattr(TcpSocket, "connect", connect)
    for scheme in ("http", "https"):
        assert failure(adapter, f"{scheme}://127.0.0.1:9/").reason == Reason.CONNECTION_CLOSED


# Limits


@pytest.mark.parametrize("kept", [0, 1])
@pytest.mark.parametrize("behavior", [say.stall(), say.drip_headers(), say.drip_body()])
def test_the_deadline_spans_the_whole_exchange(
    receiver: Receiver, adapter: Adapter, kept: int, behavior: Behavior
) -> None:
    receiver.on("/", *[say.answer()] * kept, behavior)
    for _ in range(kept):
        post(adapter, receiver.url())
    began = time.monotonic()
    assert failure(adapter, receiver.url(), seconds=TIMEOUT).reason == Reason.TIMEOUT
    assert time.monotonic() - began < TIMEOUT + SLACK


@pytest.mark.parametrize("context", [None, certificates.good()])
def test_the_deadline_spans_sending_to_a_peer_that_does_not_read(
    adapter: Adapter, context: ssl.SSLContext | None
) -> None:
    with Receiver(context, greeting=hear_nothing) as receiver:
        body = bytes(16 * 1024 * 1024)
        found = failure(adapter, receiver.url(), body=body, seconds=4 * TIMEOUT)
    assert found == (Reason.TIMEOUT, "while sending")


def test_a_flood_of_tls_records_without_data_is_cut_off(adapter: Adapter) -> None:
    """tests/webhooks/engine/test_post.py floods the handshake and the head of the response."""
    with Receiver(certificates.good(), greeting=flooding.flood_the_body) as receiver:
        found = failure(adapter, receiver.url(), seconds=flooding.FLOOD_SECONDS)
    assert found == (Reason.ANSWER_NOT_UNDERSTOOD, "more than 2,048 KiB received")


@pytest.mark.parametrize("behavior", [say.endless_trailers(), say.endless_extensions()])
def test_the_framing_of_a_body_is_read_only_up_to_a_limit(
    receiver: Receiver, adapter: Adapter, behavior: Behavior
) -> None:
    """Otherwise, the peer could keep this process busy until the deadline."""
    receiver.on("/", behavior)
    assert failure(adapter, receiver.url()).detail == "more than 2,048 KiB received"


@pytest.mark.parametrize("body", [say.endless_body, say.endless_chunk])
def test_a_body_is_read_up_to_its_limit_and_the_connection_is_closed(
    receiver: Receiver, adapter: Adapter, body: Callable[[], Behavior]
) -> None:
    receiver.on("/", body(), say.answer(201))
    assert post(adapter, receiver.url(), most=100_000) == (200, b"a" * 100_000)
    assert post(adapter, receiver.url())[0] == 201
    assert receiver.connections == 2


# Contents


def test_response_bytes_never_reach_the_log(
    receiver: Receiver, adapter: Adapter, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "config")
    receiver.on("/", say.answer(200, b"", "no header at all", ": nameless"))
    post(adapter, receiver.url("/?token=geheim"))
    receiver.on("/", say.hang_up(b"HTTP/1.1 200 OK\r\n broken\r\n\r\n"))
    post(adapter, receiver.url())
    assert caplog.records == []


@pytest.mark.parametrize("seed", range(20))
def test_malformed_responses_raise_only_the_named_failures(adapter: Adapter, seed: int) -> None:
    """Change, insert or remove a few bytes of valid responses."""
    chance = random.Random(seed)
    good = CHUNKED + b"3\r\nabc\r\n0\r\n\r\n"
    for _ in range(10):
        spoiled = bytearray(good if chance.random() < 0.5 else say.head(100) + good)
        for _ in range(chance.randint(1, 6)):
            at = chance.randrange(len(spoiled))
            spoiled[at : at + chance.randint(0, 2)] = chance.randbytes(chance.randint(0, 2))
        with Receiver() as receiver:
            receiver.on("/", say.hang_up(bytes(spoiled)))
            try:
                post(adapter, receiver.url(), seconds=1)
            except FAILURES as error:
                assert explain(error).reason, error
