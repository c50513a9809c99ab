import ipaddress
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from config.outbound import deadline
from config.outbound.deadline import connect, left, look_up, within

LOOPBACK = ipaddress.ip_address("127.0.0.1")
NEVER = 600  # seconds, far longer than the tests take
SLACK = 10  # extra seconds that a busy machine may take


@pytest.fixture
def slow_names(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Record looked-up names, and make every lookup hang except that of `quick.example.com`."""
    asked, released = [], threading.Event()

    def ask(host: bytes, *args: Any, **kwargs: Any) -> list[Any]:
        asked.append(host.decode())
        if host != b"quick.example.com":
            released.wait(NEVER)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", 0))]

    monkeypatch.setattr(socket, "getaddrinfo", ask)
    yield asked
    released.set()
    for thread in threading.enumerate():
        if thread.name == "lookup":
            thread.join(10)


@pytest.fixture
def port() -> Iterator[int]:
    """Reserve a port on every IPv4 address, so that no other process listens on it."""
    with socket.socket() as reserved:
        reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        reserved.bind(("0.0.0.0", 0))
        yield reserved.getsockname()[1]


def test_a_nested_deadline_can_only_be_shorter() -> None:
    with within(200):
        with within(100):
            assert left("while testing") <= 100
        with within(300):
            assert 100 < left("while testing") <= 200
        with within(0), pytest.raises(TimeoutError, match="while testing"):
            left("while testing")


def test_each_thread_has_its_own_deadline() -> None:
    with within(NEVER), ThreadPoolExecutor(1) as threads:
        with pytest.raises(LookupError):
            threads.submit(left, "while testing").result()
        assert left("while testing") <= NEVER


def test_the_addresses_of_a_name_share_the_remaining_time(port: int) -> None:
    """The first address accepts no connection, but the second one does."""
    with socket.create_server(("127.0.0.1", port), backlog=0):
        waiting = [socket.socket() for _ in range(4)]
        for each in waiting:
            each.setblocking(False)
            each.connect_ex(("127.0.0.1", port))
        with socket.create_server(("127.0.0.2", port)):
            began = time.monotonic()
            with within(4):
                sock, address = connect((LOOPBACK, ipaddress.ip_address("127.0.0.2")), port)
            assert 1 < time.monotonic() - began < 4
            assert (str(address), sock.getpeername()[0]) == ("127.0.0.2", "127.0.0.2")
        for each in (sock, *waiting):
            each.close()


def test_only_the_first_addresses_of_a_name_are_tried(port: int) -> None:
    """Otherwise, a name could make the worker connect to thousands of hosts."""
    addresses = tuple(LOOPBACK + number for number in range(deadline.MOST_TRIED + 1))
    with socket.create_server((str(addresses[-1]), port)):
        with within(NEVER), pytest.raises(ConnectionRefusedError):
            connect(addresses, port)
        with within(NEVER):
            sock, address = connect(addresses[1:], port)
    assert address == addresses[-1]
    sock.close()


@pytest.mark.parametrize(("seconds", "limit"), [(0.3, NEVER), (NEVER, 0.3)])
def test_a_silent_name_server_is_cut_off_at_the_earlier_limit(
    slow_names: list[str], monkeypatch: pytest.MonkeyPatch, seconds: float, limit: float
) -> None:
    monkeypatch.setattr(deadline, "LOOK_UP_SECONDS", limit)
    began = time.monotonic()
    with within(seconds), pytest.raises(TimeoutError, match="while looking up the name"):
        look_up("slow.example.com")
    assert time.monotonic() - began < SLACK


def test_many_unanswered_names_do_not_block_other_names(
    slow_names: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deadline, "LOOK_UP_SECONDS", NEVER)

    def ask(number: int) -> None:
        with within(0.5), pytest.raises(TimeoutError):
            look_up(f"slow{number % 100}.example.com")

    with ThreadPoolExecutor(200) as threads:
        late = [threads.submit(ask, number) for number in range(200)]
        for _ in range(3):
            with within(NEVER):
                assert look_up("quick.example.com") == (LOOPBACK,)
        for each in late:
            each.result()
    assert slow_names.count("slow7.example.com") == 1, "concurrent callers share one lookup"
    assert slow_names.count("quick.example.com") == 3, "a result is not kept"


def test_the_number_of_concurrent_lookups_is_limited(
    slow_names: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deadline, "LOOK_UPS", 3)
    for number in range(3):
        with within(0.3), pytest.raises(TimeoutError):
            look_up(f"bounded{number}.example.com")
    with within(NEVER), pytest.raises(socket.gaierror, match="too many names"):
        look_up("bounded3.example.com")
    with within(0.3), pytest.raises(TimeoutError):
        look_up("bounded0.example.com")


@pytest.mark.parametrize("host", ["a" * 64 + ".example.com", "a..example.com", "no-such.invalid"])
def test_an_invalid_name_is_not_found(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Without a name server, a lookup fails only after several seconds.
    monkeypatch.setattr(deadline, "LOOK_UP_SECONDS", NEVER)
    with within(NEVER), pytest.raises(socket.gaierror):
        look_up(host)
