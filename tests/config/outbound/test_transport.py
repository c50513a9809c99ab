import errno
import logging
import random
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from functools import partial
from typing import Any, NoReturn

import pytest
import requests

from config.outbound import idle, transport
from config.outbound.deadline import TcpSocket, within
from config.outbound.failures import FAILURES, AddressNotAllowed, Reason, explain
from config.outbound.transport import pieces, session
from tests.servers import behaviors as say
from tests.servers import certificates
from tests.servers.behaviors import Arrival, Behavior, Step
from tests.servers.receiver import Receiver, hear_nothing

TIMEOUT = 1.0  # seconds; long enough to send the request before the exchange times out
SLACK = 10.0  # seconds that a busy machine may add


@pytest.fixture(params=["http", "https"])
def receiver(request: pytest.FixtureRequest) -> Iterator[Receiver]:
    with Receiver(certificates.good() if request.param == "https" else None) as running:
        yield running


@pytest.fixture
def client() -> Iterator[requests.Session]:
    with session(ca_bundle=certificates.ca_file(), kept=4) as made:
        yield made


def get(
    client: requests.Session, url: str, *, seconds: float = 30.0, most: int = 1_000_000
) -> tuple[int, bytes]:
    with within(seconds), closing(client.get(url, stream=True)) as response:
        return response.status_code, b"".join(pieces(response, most=most))


def test_the_oldest_accepted_version_is_tls_1_2(client: requests.Session) -> None:
    # This checks the context, because OpenSSL itself may refuse older versions on this machine
    assert client.get_adapter("https://").context.minimum_version is ssl.TLSVersion.TLSv1_2


def test_a_connection_serves_several_requests_in_turn(
    receiver: Receiver, client: requests.Session
) -> None:
    receiver.on("/", say.answer(200, b"yes"), say.answer(500, b"no" * 50_000))
    assert get(client, receiver.url()) == (200, b"yes")
    assert get(client, receiver.url()) == (500, b"no" * 50_000)
    assert get(client, receiver.url())[0] == 500
    assert receiver.connections == 1


@pytest.mark.parametrize(
    "first",
    [
        pytest.param(say.hang_up(say.head(200, length=0)), id="closed after the response"),
        pytest.param(
            say.steps(say.head(200, "Connection: close", length=0), say.CLOSE),
            id="announced by a header",
        ),
        pytest.param(say.hang_up(b"HTTP/1.0 200 OK\r\n\r\nyes"), id="HTTP/1.0"),
    ],
)
def test_a_connection_that_the_peer_closes_is_not_reused(
    receiver: Receiver,
    client: requests.Session,
    first: Behavior,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # On a busy machine, the receiver's close may arrive long after the next request was sent.
    monkeypatch.setattr(transport, "AT_ONCE", SLACK)
    receiver.on("/", first, say.answer(201))
    assert get(client, receiver.url())[0] == 200
    assert get(client, receiver.url())[0] == 201
    assert (receiver.connections, len(receiver.arrivals)) == (2, 2)


@pytest.mark.parametrize("end", [say.hang_up, say.reset])
def test_a_kept_connection_that_the_peer_has_closed_is_not_a_failure(
    receiver: Receiver,
    client: requests.Session,
    end: Callable[[], Behavior],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(transport, "AT_ONCE", SLACK)
    receiver.on("/", say.answer(200), end(), say.answer(201))
    assert get(client, receiver.url())[0] == 200
    assert get(client, receiver.url())[0] == 201
    assert [arrival.connection for arrival in receiver.arrivals] == [1, 1, 2]


@pytest.mark.parametrize("end", [say.hang_up, say.reset])
def test_a_new_connection_that_the_peer_closes_is_an_immediate_failure(
    receiver: Receiver, client: requests.Session, end: Callable[[], Behavior]
) -> None:
    receiver.on("/", end())
    with pytest.raises(FAILURES) as caught:
        get(client, receiver.url())
    assert explain(caught.value).reason == Reason.CONNECTION_CLOSED
    assert len(receiver.arrivals) == 1


@pytest.mark.parametrize("end", [say.CLOSE, say.RESET])
def test_a_peer_that_pauses_before_closing_does_not_get_the_request_again(
    receiver: Receiver, client: requests.Session, end: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The peer may have read the request and acted on it."""
    monkeypatch.setattr(transport, "AT_ONCE", 0.1)
    receiver.on("/", say.answer(200), say.steps(0.3, end), say.answer(201))
    assert get(client, receiver.url())[0] == 200
    with pytest.raises(FAILURES) as caught:
        get(client, receiver.url())
    assert explain(caught.value).reason == Reason.CONNECTION_CLOSED
    assert [arrival.connection for arrival in receiver.arrivals] == [1, 1]


def test_a_peer_that_also_closes_the_second_connection_gets_no_third_request(
    receiver: Receiver, client: requests.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "AT_ONCE", SLACK)
    receiver.on("/", say.answer(200), say.hang_up())
    assert get(client, receiver.url())[0] == 200
    with pytest.raises(FAILURES):
        get(client, receiver.url())
    assert [arrival.connection for arrival in receiver.arrivals] == [1, 1, 2]


@pytest.mark.parametrize("said", [b"HTTP/1.1 200 O", say.head(200, length=5)[:-2]])
def test_a_request_is_not_repeated_if_a_kept_connection_closes_within_the_response(
    receiver: Receiver, client: requests.Session, said: bytes
) -> None:
    receiver.on("/", say.answer(200), say.hang_up(said))
    assert get(client, receiver.url())[0] == 200
    with suppress(FAILURES):
        get(client, receiver.url())
    assert len(receiver.arrivals) == 2, "the request was not sent again"


def test_a_silent_kept_connection_is_a_timeout_and_not_a_retry(
    receiver: Receiver, client: requests.Session
) -> None:
    receiver.on("/", say.answer(200), say.stall())
    assert get(client, receiver.url())[0] == 200
    with pytest.raises(FAILURES) as caught:
        get(client, receiver.url(), seconds=TIMEOUT)
    assert explain(caught.value).reason == Reason.TIMEOUT
    assert len(receiver.wait_for(2)) == 2


def test_a_connection_that_was_idle_too_long_is_not_reused(
    receiver: Receiver, client: requests.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    get(client, receiver.url())
    monkeypatch.setattr(idle, "IDLE_SECONDS", 0.0)
    get(client, receiver.url())
    assert receiver.connections == 2


def test_a_connection_to_an_address_that_the_name_no_longer_has_is_not_reused(
    client: requests.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    addresses, ask = ["127.0.0.1"], socket.getaddrinfo
    monkeypatch.setattr(
        socket, "getaddrinfo", lambda host, *args, **kwargs: ask(addresses[0], *args, **kwargs)
    )
    with Receiver() as receiver:
        get(client, receiver.url(host="hooks.example.com"))
        addresses[0] = "127.0.0.2"
        with pytest.raises(FAILURES) as caught:
            get(client, receiver.url(host="hooks.example.com"))
        assert explain(caught.value).reason == Reason.CONNECTION_REFUSED
        assert receiver.connections == 1


def test_every_request_checks_all_addresses_before_it_is_sent(receiver: Receiver) -> None:
    judged = []

    def judge(address: Any) -> None:
        judged.append(str(address))
        if len(judged) == 3:
            raise AddressNotAllowed("enough")

    with session(judge=judge, ca_bundle=certificates.ca_file()) as client:
        for _ in range(2):
            get(client, receiver.url())
        with pytest.raises(AddressNotAllowed):
            get(client, receiver.url())
    assert (judged, len(receiver.arrivals)) == (["127.0.0.1"] * 3, 2)


def test_the_deadline_spans_headers_and_body(receiver: Receiver, client: requests.Session) -> None:
    receiver.on("/", say.drip_body())
    began = time.monotonic()
    with pytest.raises(FAILURES) as caught:
        get(client, receiver.url(), seconds=0.5)
    assert explain(caught.value).reason == Reason.TIMEOUT
    assert time.monotonic() - began < 0.5 + SLACK


@pytest.mark.parametrize("context", [None, certificates.good()])
def test_the_deadline_spans_sending_to_a_peer_that_does_not_read(
    client: requests.Session, context: ssl.SSLContext | None
) -> None:
    began = time.monotonic()
    with (
        Receiver(context, greeting=hear_nothing) as receiver,
        within(TIMEOUT),
        pytest.raises(FAILURES) as caught,
    ):
        client.post(receiver.url(), data=bytes(16 * 1024 * 1024), stream=True)
    assert explain(caught.value) == (Reason.TIMEOUT, "while sending")
    assert time.monotonic() - began < TIMEOUT + SLACK


def test_interim_responses_are_skipped_and_the_connection_is_kept(
    receiver: Receiver, client: requests.Session
) -> None:
    receiver.on("/", say.early_hints(204))
    assert [get(client, receiver.url())[0] for _ in range(3)] == [204] * 3
    assert receiver.connections == 1


def test_a_cookie_is_never_sent_back(receiver: Receiver, client: requests.Session) -> None:
    receiver.on("/", say.answer(200, b"", "Set-Cookie: a=b; Path=/"))
    for _ in range(2):
        get(client, receiver.url())
    assert [arrival.header("Cookie") for arrival in receiver.arrivals] == [None, None]


def test_certificate_verification_cannot_be_disabled(client: requests.Session) -> None:
    with Receiver(certificates.self_signed()) as receiver, within(30):
        with pytest.raises(FAILURES) as caught:
            client.get(receiver.url(), stream=True, verify=False)
        assert explain(caught.value).reason == Reason.CERTIFICATE_NOT_TRUSTED
        assert receiver.arrivals == []


def test_without_a_bundle_the_certificates_of_the_system_are_trusted() -> None:
    with session() as client, Receiver(certificates.good()) as receiver, within(30):
        with pytest.raises(FAILURES) as caught:
            client.get(receiver.url(), stream=True)
        assert explain(caught.value).reason == Reason.CERTIFICATE_NOT_TRUSTED


def test_requests_beyond_the_number_of_kept_connections_do_not_wait(
    receiver: Receiver, client: requests.Session
) -> None:
    for at_once in (40, 4):
        together = threading.Barrier(at_once)

        def behavior(arrival: Arrival, together: threading.Barrier = together) -> Iterator[Step]:
            together.wait(60)
            yield say.head(200, length=0)

        receiver.on("/", behavior)
        with ThreadPoolExecutor(at_once) as threads:
            ask = partial(get, client, receiver.url(), seconds=60.0)
            answers = [each.result() for each in [threads.submit(ask) for _ in range(at_once)]]
        assert answers == [(200, b"")] * at_once
    assert receiver.connections == 40, "four were kept"


def test_a_connection_that_is_reset_while_connecting_is_a_failure(
    client: requests.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    def connect(sock: socket.socket, address: Any) -> NoReturn:
        raise ConnectionResetError(errno.ECONNRESET, "Connection reset by peer")

    monkeypatch.setattr(TcpSocket, "connect", connect)
    with pytest.raises(FAILURES) as caught:
        get(client, "http://127.0.0.1:9/")
    assert explain(caught.value).reason == Reason.CONNECTION_CLOSED


def test_response_bytes_never_reach_the_log(
    receiver: Receiver, client: requests.Session, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "config")
    receiver.on("/", say.answer(200, b"", "no header at all", ": nameless"))
    get(client, receiver.url("/?token=geheim"))
    receiver.on("/", say.hang_up(b"HTTP/1.1 200 OK\r\n broken\r\n\r\n"))
    get(client, receiver.url())
    assert caplog.records == []


@pytest.mark.parametrize("seed", range(40))
def test_malformed_responses_raise_only_the_named_failures(
    client: requests.Session, seed: int
) -> None:
    """Change, insert or remove a few bytes of valid responses."""
    chance = random.Random(seed)
    good = say.head(200, "Transfer-Encoding: chunked", "A: b") + b"3\r\nabc\r\n0\r\n\r\n"
    for _ in range(10):
        spoiled = bytearray(good if chance.random() < 0.5 else say.head(100) + good)
        for _ in range(chance.randint(1, 6)):
            at = chance.randrange(len(spoiled))
            spoiled[at : at + chance.randint(0, 2)] = chance.randbytes(chance.randint(0, 2))
        with Receiver() as receiver:
            receiver.on("/", say.hang_up(bytes(spoiled)))
            try:
                get(client, receiver.url(), seconds=1)
            except FAILURES as error:
                assert explain(error).reason, error
