import ipaddress
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from config import deadline
from config.deadline import connect, left, look_up, within

LOOPBACK = ipaddress.ip_address("127.0.0.1")


@pytest.fixture
def slow_names(monkeypatch):
    """A name server that is silent about every name but `quick.example.com` until it is let go."""
    asked, released = [], threading.Event()

    def ask(host, *args, **kwargs):
        asked.append(host.decode())
        if host != b"quick.example.com":
            released.wait(20)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", 0))]

    monkeypatch.setattr(socket, "getaddrinfo", ask)
    yield asked
    released.set()
    for thread in threading.enumerate():
        if thread.name == "look-up":
            thread.join(10)


def test_a_deadline_within_another_can_only_shorten_it():
    with within(10):
        with within(0.5):
            assert 0.4 < left() <= 0.5
        with within(60):
            assert 9 < left() <= 10
        assert 9 < left() <= 10


def test_a_deadline_that_has_passed_is_a_timeout():
    with within(0), pytest.raises(TimeoutError):
        left()


def test_nothing_is_sent_without_a_deadline():
    with pytest.raises(LookupError):
        left()


def test_each_thread_has_its_own_deadline():
    with within(1), ThreadPoolExecutor(1) as threads:
        with pytest.raises(LookupError):
            threads.submit(left).result()
        assert left() <= 1


def test_the_addresses_of_a_connection_share_the_time_that_is_left():
    """The first is silent, as where half of the internet is out of reach; the second answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full, within(1):
        port = full.getsockname()[1]
        waiting = [socket.socket() for _ in range(4)]
        for each in waiting:
            each.setblocking(False)
            each.connect_ex(("127.0.0.1", port))
        with socket.create_server(("127.0.0.2", port)):
            began = time.monotonic()
            sock, address = connect((LOOPBACK, ipaddress.ip_address("127.0.0.2")), port)
            assert 0.45 < time.monotonic() - began < 0.7
            assert (str(address), sock.getpeername()[0]) == ("127.0.0.2", "127.0.0.2")
        for each in (sock, *waiting):
            each.close()


def test_a_literal_address_needs_no_look_up(monkeypatch):
    monkeypatch.setattr(socket, "getaddrinfo", None)
    assert look_up("127.0.0.1") == (LOOPBACK,)
    assert look_up("::1") == (ipaddress.ip_address("::1"),)


def test_a_silent_name_server_ends_with_the_deadline(slow_names):
    began = time.monotonic()
    with within(0.3), pytest.raises(TimeoutError, match="while looking the name up"):
        look_up("slow.example.com")
    assert time.monotonic() - began < 0.5


def test_a_look_up_has_less_than_all_of_the_time(slow_names, monkeypatch):
    monkeypatch.setattr(deadline, "LOOK_UP_SECONDS", 0.2)
    began = time.monotonic()
    with within(5), pytest.raises(TimeoutError):
        look_up("slow.example.com")
    assert time.monotonic() - began < 1


def test_many_silent_names_leave_the_others_alone(slow_names, monkeypatch):
    def ask(number):
        with within(0.5), pytest.raises(TimeoutError):
            look_up(f"slow{number % 100}.example.com")

    with ThreadPoolExecutor(200) as threads:
        late = [threads.submit(ask, number) for number in range(200)]
        with within(5):
            began = time.monotonic()
            assert look_up("quick.example.com") == (LOOPBACK,)
            assert time.monotonic() - began < 1
        for each in late:
            each.result()
    assert slow_names.count("slow7.example.com") == 1, "who asks meanwhile shares the answer"


def test_look_ups_are_bounded(slow_names, monkeypatch):
    monkeypatch.setattr(deadline, "LOOK_UPS", 3)
    for number in range(3):
        with within(0.05), pytest.raises(TimeoutError):
            look_up(f"bounded{number}.example.com")
    with within(5), pytest.raises(socket.gaierror, match="too many names"):
        look_up("bounded3.example.com")
    with within(0.05), pytest.raises(TimeoutError):
        look_up("bounded0.example.com")


def test_a_name_is_asked_for_anew_each_time(slow_names):
    for _ in range(3):
        with within(5):
            look_up("quick.example.com")
    assert slow_names == ["quick.example.com"] * 3


@pytest.mark.parametrize("host", ["a" * 64 + ".example.com", "a..example.com", "no-such.invalid"])
def test_a_name_that_cannot_be_is_not_found(host):
    with within(5), pytest.raises(socket.gaierror):
        look_up(host)
