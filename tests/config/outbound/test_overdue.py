"""A step that does not obey its timeout is cut off soon after its deadline."""

import socket
import struct
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
import requests

from config.outbound import overdue
from config.outbound.deadline import within
from config.outbound.failures import FAILURES, Failure, Reason, explain
from config.outbound.overdue import Steps
from config.outbound.transport import pieces, session
from tests.servers import certificates, flooding
from tests.servers.processes import wait_until
from tests.servers.receiver import Greeting, Receiver

TIMEOUT = 1.0
SLACK = 5.0  # seconds that a busy machine may add; a flood lasts much longer
LONG = 60.0  # seconds; longer than any test takes
RECEIVED = bytes(100_000)


@pytest.fixture
def client() -> Iterator[requests.Session]:
    with session(ca_bundle=certificates.ca_file()) as made:
        yield made


@pytest.fixture
def connection() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Yield a connected socket and its peer."""
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        socket.create_connection(listener.getsockname()) as sock,
        listener.accept()[0] as peer,
    ):
        sock.settimeout(LONG)
        yield sock, peer


def overrun(sock: socket.socket) -> None:
    """Begin a step, and wait until it has been cut off."""
    steps = Steps()
    with pytest.raises(TimeoutError), steps.watched(sock, 0.0):
        wait_until(lambda: not steps.ends)
    assert steps.watcher is None, "without steps, the thread ends"


def post(client: requests.Session, url: str) -> Failure:
    """Send a request that fails within its timeout, and return the failure."""
    began = time.monotonic()
    with (
        within(TIMEOUT),
        pytest.raises(FAILURES) as caught,
        closing(client.post(url, data=b"asked", stream=True)) as response,
    ):
        b"".join(pieces(response, most=100))
    assert time.monotonic() - began < TIMEOUT + SLACK
    return explain(caught.value)


@pytest.mark.parametrize(
    ("greeting", "doing"),
    [
        (flooding.flood_the_handshake, "during the TLS handshake"),
        (flooding.flood_the_response, "while waiting for the response"),
        (flooding.flood_the_body, "while waiting for the response"),
    ],
)
def test_a_flood_of_records_without_data_is_cut_off(
    client: requests.Session, greeting: Greeting, doing: str
) -> None:
    with Receiver(certificates.good(), greeting=greeting) as receiver:
        assert post(client, receiver.url()) == (Reason.TIMEOUT, doing)


def test_concurrent_floods_are_all_cut_off(client: requests.Session) -> None:
    with (
        Receiver(certificates.good(), greeting=flooding.flood_the_handshake) as receiver,
        ThreadPoolExecutor(8) as threads,
    ):
        failures = list(threads.map(lambda _: post(client, receiver.url()), range(8)))
    assert {failure.reason for failure in failures} == {Reason.TIMEOUT}


def test_a_step_that_is_cut_off_finds_no_more_bytes(
    connection: tuple[socket.socket, socket.socket],
) -> None:
    """Otherwise, OpenSSL would first read all bytes that have been received."""
    sock, peer = connection
    peer.sendall(RECEIVED)
    overrun(sock)
    assert sock.recv(1) == b""
    with pytest.raises(BrokenPipeError):
        sock.sendall(b"more")


def test_bytes_from_a_peer_that_has_reset_the_connection_are_discarded(
    connection: tuple[socket.socket, socket.socket],
) -> None:
    sock, peer = connection
    peer.sendall(RECEIVED)
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    peer.close()
    overrun(sock)
    assert sock.recv(1) == b""


def test_a_step_in_time_is_not_disturbed(
    connection: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(overdue, "LOOK", 0.01)
    sock, peer = connection
    steps = Steps()
    with steps.watched(sock, LONG):
        watcher = steps.watcher
        assert watcher is not None
        peer.sendall(b"a")
        assert sock.recv(1) == b"a"
    watcher.join()
    assert steps.watcher is None, "without steps, the thread ends"
    sock.sendall(b"b")
    assert peer.recv(1) == b"b"


def test_a_thread_that_ended_unexpectedly_is_replaced(
    connection: tuple[socket.socket, socket.socket],
) -> None:
    steps = Steps()
    steps.watcher = threading.Thread()  # a thread that does not run, as after a fork
    with pytest.raises(TimeoutError), steps.watched(connection[0], 0.0):
        wait_until(lambda: not steps.ends)


def test_a_step_is_taken_even_if_no_thread_can_be_started(
    connection: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    steps = Steps()
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", fail)
        with steps.watched(connection[0], LONG):
            assert steps.watcher is None
    with steps.watched(connection[0], LONG):
        assert steps.watcher is not None
