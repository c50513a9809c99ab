"""Set one deadline for a whole exchange: the name lookup, the request and the response.

A socket's timeout limits only a single step, and a peer that sends slowly can stretch an exchange
over any number of steps. Therefore, `TcpSocket` sets the timeout to the remaining time before every
step. The deadline is a context variable: each thread has its own, and it also applies to
connections that earlier exchanges left open.
"""

import ipaddress
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from http.client import HTTPException
from typing import Any

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Addresses = tuple[Address, ...]

MOST_TRIED = 16  # a load balancer may have eight IPv4 and eight IPv6 addresses
HEAD_BYTES = 128 * 1024  # maximum number of bytes received in a TLS handshake or a response's head
LOOK_UP_SECONDS = 3.0
LOOK_UPS = 1_024  # limits the names being looked up, because dead name servers block threads

_ends: ContextVar[float] = ContextVar("_ends")


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


class TcpSocket(socket.socket):
    """A stream socket that enforces the deadline at every step, and a limit of received bytes.

    Without the limit, a peer that floods the connection with interim responses, chunk sizes or TLS
    records could keep a CPU busy until the deadline.
    """

    heard = 0.0  # when bytes were last received, on the monotonic clock
    most = unused = HEAD_BYTES

    def allow(self, most: int) -> None:
        """Let the peer send at most this many bytes from now on."""
        self.most = self.unused = most

    # Any: the arguments of the base class. Python has no type for buffers before version 3.12.
    def recv_into(self, *args: Any, **kwargs: Any) -> int:
        with self._step("while waiting for the response"):
            count = super().recv_into(*args, **kwargs)
        self._count(count)
        return count

    def recv(self, *args: Any, **kwargs: Any) -> bytes:
        with self._step("while waiting for the response"):
            received = super().recv(*args, **kwargs)
        self._count(len(received))
        return received

    def sendall(self, *args: Any, **kwargs: Any) -> None:
        """Send all bytes before the deadline."""
        with self._step("while sending"):
            super().sendall(*args, **kwargs)

    def connect_in_share(self, address: tuple[str, int], share: int) -> None:
        """Connect within the time left divided by `share`."""
        with self._step("while connecting", share=share):
            self.connect(address)

    @contextmanager
    def _step(self, doing: str, *, share: int = 1) -> Iterator[None]:
        try:
            self.settimeout(left(doing) / share)
            yield
        except TimeoutError as error:
            raise TimeoutError(doing) from error

    def _count(self, received: int) -> None:
        self.heard = time.monotonic()
        self.unused -= received
        if self.unused < 0:
            raise HTTPException(f"more than {self.most // 1024:,} KiB received")


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
_lookups_lock = threading.Lock()


def _join_lookup(host: str) -> Future[Addresses]:
    """Start looking up a name, or join a lookup that is under way.

    Concurrent lookups of a name share one result, so an unresponsive name server costs one thread
    per name, not one per attempt. The threads are daemons, so that getaddrinfo, which has no
    timeout, cannot delay the process's exit. Raises socket.gaierror beyond LOOK_UPS names.
    """
    with _lookups_lock:
        if host in _under_way:
            return _under_way[host]
        if len(_under_way) >= LOOK_UPS:
            raise socket.gaierror(socket.EAI_AGAIN, "too many names are being looked up")
        answer: Future[Addresses] = Future()
        run = partial(_run_lookup, host, answer)
        threading.Thread(target=run, name="lookup", daemon=True).start()
        _under_way[host] = answer
        return answer


def _run_lookup(host: str, answer: Future[Addresses]) -> None:
    """Look up a name in this thread, and set `answer` to the addresses or the error."""
    try:
        # Pass bytes, because Python's IDNA codec for str raises errors that are not gaierrors.
        found = socket.getaddrinfo(host.encode(), None, type=socket.SOCK_STREAM)
        addresses = tuple(dict.fromkeys(ipaddress.ip_address(entry[4][0]) for entry in found))
        finish = partial(answer.set_result, addresses)
    except socket.gaierror as error:
        finish = partial(answer.set_exception, socket.gaierror(error.errno, host))
    except Exception as error:
        finish = partial(answer.set_exception, error)
    with _lookups_lock:
        del _under_way[host]
    finish()
