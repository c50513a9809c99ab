"""Set one deadline for a whole exchange: the name lookup, the request and the response.

A socket's timeout limits only a single step, and a peer that sends slowly can stretch an exchange
over any number of steps. Therefore, before every step, the timeout is set to the remaining time. A
step that does not obey its timeout is cut off (see `config.outbound.overdue`). The deadline is a
context variable: each thread has its own, and it also applies to connections that earlier exchanges
left open.
"""

import ipaddress
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from config.outbound.overdue import Steps

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Addresses = tuple[Address, ...]

MOST_TRIED = 16  # a load balancer may have eight IPv4 and eight IPv6 addresses
WAITING = "while waiting for the response"
LOOK_UP_SECONDS = 3.0
LOOK_UPS = 256  # limits concurrent lookups, because dead name servers block threads
# How many of the LOOK_UPS are reserved for names whose latest lookup succeeded. Names whose lookups
# hang can therefore never occupy all threads.
KEPT_FREE = 64
NAMES_KNOWN = 4_096  # maximum number of remembered names whose latest lookup succeeded

_ends: ContextVar[float] = ContextVar("_ends")
_steps = Steps()


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Set a deadline `seconds` from now for all network steps in the block.

    In a nested block, the earlier of the two deadlines applies. A step that misses the deadline
    raises TimeoutError, whose message names the step.
    """
    ends = time.monotonic() + seconds
    token = _ends.set(min(ends, _ends.get(ends)))
    try:
        yield
    finally:
        _ends.reset(token)


def left(doing: str) -> float:
    """Return the seconds until the deadline. Raises TimeoutError(doing) if it has passed."""
    seconds = _ends.get() - time.monotonic()
    if seconds <= 0:
        raise TimeoutError(doing)
    return seconds


@contextmanager
def _armed(sock: socket.socket, *, doing: str, share: int = 1) -> Iterator[None]:
    try:
        seconds = left(doing) / share
        sock.settimeout(seconds)
        with _steps.watched(sock, seconds):
            yield
    except TimeoutError as error:
        raise TimeoutError(doing) from error


class _Timed(socket.socket):
    heard = 0.0  # when bytes were last received, on the monotonic clock

    # The arguments are those of the base class. They are typed as Any, because Python has no type
    # for buffers before version 3.12.
    def recv_into(self, *args: Any, **kwargs: Any) -> int:
        with _armed(self, doing=WAITING):
            count = super().recv_into(*args, **kwargs)
        if count:  # receiving 0 bytes means that the connection has ended
            self.heard = time.monotonic()
        return count


class TcpSocket(_Timed):
    """A stream socket that enforces the deadline at every step."""

    def connect_in_share(self, address: tuple[str, int], share: int) -> None:
        """Connect within the time left divided by `share`."""
        with _armed(self, doing="while connecting", share=share):
            self.connect(address)

    def sendall(self, *args: Any, **kwargs: Any) -> None:
        """Send all bytes before the deadline."""
        with _armed(self, doing="while sending"):
            super().sendall(*args, **kwargs)


class TlsSocket(_Timed, ssl.SSLSocket):
    """A TLS socket that enforces the deadline at every step."""

    def do_handshake(self, block: bool = False) -> None:
        """Complete the TLS handshake before the deadline."""
        with _armed(self, doing="during the TLS handshake"):
            super().do_handshake(block)

    def send(self, *args: Any, **kwargs: Any) -> int:
        """Send some of the bytes. Under TLS, `sendall` calls this in a loop."""
        with _armed(self, doing="while sending"):
            return super().send(*args, **kwargs)


def connect(addresses: Addresses, port: int) -> tuple[TcpSocket, Address]:
    """Try at most MOST_TRIED addresses, and connect to the first one that accepts the connection.

    Before each attempt, the time left is divided equally among the untried addresses. Raises the
    OSError of the last attempt.
    """
    addresses = addresses[:MOST_TRIED]
    failure = OSError("there is no address")
    for untried, address in zip(range(len(addresses), 0, -1), addresses, strict=True):
        family = socket.AF_INET if address.version == 4 else socket.AF_INET6
        sock = TcpSocket(family, socket.SOCK_STREAM)
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.connect_in_share((str(address), port), untried)
        except OSError as error:
            sock.close()
            failure = error
        else:
            return sock, address
    raise failure


def look_up(host: str) -> Addresses:
    """Look up all addresses of a host.

    The result is not cached. Raises socket.gaierror or TimeoutError.
    """
    try:
        return (ipaddress.ip_address(host),)
    except ValueError:
        answer = _join_lookup(host)
    doing = "while looking up the name"
    try:
        return answer.result(min(LOOK_UP_SECONDS, left(doing)))
    except TimeoutError as error:
        raise TimeoutError(doing) from error


_under_way: dict[str, Future[Addresses]] = {}
_found: dict[str, None] = {}  # names whose latest lookup succeeded; the most recent is last
_lookups_lock = threading.Lock()


def _join_lookup(host: str) -> Future[Addresses]:
    """Start looking up a name, or join a lookup that is under way.

    Concurrent lookups of a name share one result, so an unresponsive name server costs one thread
    per name, not one per attempt. The threads are daemons, so that getaddrinfo, which has no
    timeout, cannot delay the process's exit. Raises socket.gaierror if too many lookups are under
    way.
    """
    with _lookups_lock:
        if host in _under_way:
            return _under_way[host]
        if len(_under_way) >= (LOOK_UPS if host in _found else LOOK_UPS - KEPT_FREE):
            raise socket.gaierror(socket.EAI_AGAIN, "too many names are being looked up")
        answer: Future[Addresses] = Future()
        threading.Thread(
            target=_run_lookup, args=(host, answer), name="lookup", daemon=True
        ).start()
        _under_way[host] = answer
        # A successful lookup adds the name again. A name whose lookups have begun to hang can
        # therefore take a reserved thread only once.
        _found.pop(host, None)
        return answer


def _run_lookup(host: str, answer: Future[Addresses]) -> None:
    """Look up a name in this thread, and set `answer` to the addresses or the error."""
    try:
        # Pass bytes, because Python's IDNA codec for str raises errors that are not gaierrors.
        found = socket.getaddrinfo(host.encode(), None, type=socket.SOCK_STREAM)
        addresses = tuple(dict.fromkeys(ipaddress.ip_address(entry[4][0]) for entry in found))
    except (OSError, ValueError, MemoryError) as error:
        with _lookups_lock:
            del _under_way[host]
        answer.set_exception(error)
        return
    with _lookups_lock:
        del _under_way[host]
        _found[host] = None
        if len(_found) > NAMES_KNOWN:
            del _found[next(iter(_found))]
    answer.set_result(addresses)
