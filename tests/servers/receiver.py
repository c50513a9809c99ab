"""A real webhook receiver (threads, sockets, TLS) that records requests, and answers as told."""

import contextlib
import itertools
import socket
import ssl
import struct
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import BinaryIO, Self

from tests.patience import PATIENCE
from tests.servers.behaviors import CLOSE, FOR_EVER, RESET, Arrival, Behavior, answer

Greeting = Callable[["Receiver", socket.socket], socket.socket | None]


def shake_hands(receiver: "Receiver", raw: socket.socket) -> socket.socket | None:
    """Return the connection. If there is a TLS context, complete the TLS handshake first."""
    if receiver.context is None:
        return raw
    return receiver.context.wrap_socket(raw, server_side=True)


class Receiver:
    """A server on a free port. Use it as a context manager.

    Without a TLS context, the server speaks plain HTTP. Each request is passed to `tell`, or
    appended to `arrivals` if `tell` is not given. `connections` is the number of connections that
    have been opened. `greeting` is called with each new connection. It returns the connection to
    read requests from, or None to close the connection without reading any.
    """

    def __init__(
        self,
        context: ssl.SSLContext | None = None,
        *,
        greeting: Greeting = shake_hands,
        host: str = "127.0.0.1",
        port: int = 0,
        tell: Callable[[Arrival], None] | None = None,
    ) -> None:
        self.context, self.greeting = context, greeting
        self.arrivals: list[Arrival] = []
        self.connections = 0
        self.stopping = threading.Event()
        self._tell = tell or self.arrivals.append
        self._plans: dict[str, deque[Behavior]] = {}
        self._default: deque[Behavior] = deque([answer()])
        self._arrived = threading.Condition()
        self._open: set[socket.socket] = set()
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._listener = socket.create_server((host, port), family=family, backlog=1024)
        self.host = f"[{host}]" if ":" in host else host
        self.port: int = self._listener.getsockname()[1]

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopping.set()
        self._listener.close()
        for sock in list(self._open):
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    def url(self, path: str = "/", host: str | None = None) -> str:
        return f"{'https' if self.context else 'http'}://{host or self.host}:{self.port}{path}"

    def on(self, path: str, *plan: Behavior) -> None:
        """Set a path's behaviors, one for each request. Further requests repeat the last one."""
        self._plans[path] = deque(plan)

    def wait_for(self, count: int, seconds: float = PATIENCE) -> list[Arrival]:
        """Wait until this many requests have arrived, and return all requests so far.

        The test fails if they do not arrive in time.
        """
        with self._arrived:
            enough = self._arrived.wait_for(lambda: len(self.arrivals) >= count, seconds)
        assert enough, f"{len(self.arrivals)} of {count} requests arrived within {seconds} s"
        return list(self.arrivals)

    def _accept(self) -> None:
        for number in itertools.count(1):
            try:
                raw, _ = self._listener.accept()
            except OSError:
                return
            self.connections = number
            threading.Thread(target=self._serve, args=(raw, number), daemon=True).start()

    def _serve(self, raw: socket.socket, number: int) -> None:
        sock: socket.socket | None = raw
        self._open.add(raw)
        try:
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock = self.greeting(self, raw)
            if sock is not None:
                self._open.add(sock)
                self._converse(sock, number)
        except (OSError, ValueError):
            pass  # the peer disconnected, or the server is stopping
        finally:
            self._open -= {raw, sock}
            for each in (sock, raw):
                if each is not None:
                    each.close()

    def _converse(self, sock: socket.socket, number: int) -> None:
        with sock.makefile("rb") as file:
            while arrival := read_request(file, number):
                plan = self._plans.get(arrival.path, self._default)
                behavior = plan.popleft() if len(plan) > 1 else plan[0]
                with self._arrived:
                    self._tell(arrival)
                    self._arrived.notify_all()
                for step in behavior(arrival):
                    if not self._do(sock, step):
                        return

    def _do(self, sock: socket.socket, step: object) -> bool:
        if isinstance(step, bytes):
            sock.sendall(step)
        elif isinstance(step, float):
            return not self.stopping.wait(step)
        elif step is RESET:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        return step not in (CLOSE, RESET)


def read_request(file: BinaryIO, connection: int) -> Arrival | None:
    """Read one request, or return None if the connection has ended."""
    first = file.readline()
    if not first:
        return None
    method, path, _ = first.decode("latin-1").split(" ", 2)
    monotonic, wall = time.monotonic(), time.time()
    lines = iter(lambda: file.readline().decode("latin-1").rstrip("\r\n"), "")
    headers = [(name, value.lstrip()) for name, _, value in (line.partition(":") for line in lines)]
    length = next((int(value) for name, value in headers if name.lower() == "content-length"), 0)
    return Arrival(monotonic, wall, method, path, headers, file.read(length), connection)


# Greetings that never read a request:


def say_nothing(receiver: Receiver, raw: socket.socket) -> None:
    receiver.stopping.wait(FOR_EVER)


def hang_up_at_once(receiver: Receiver, raw: socket.socket) -> None:
    return


def hear_nothing(receiver: Receiver, raw: socket.socket) -> None:
    """Complete the TLS handshake, and then read nothing."""
    sock = shake_hands(receiver, raw)
    receiver.stopping.wait(FOR_EVER)
    del sock


def speak_plainly(receiver: Receiver, raw: socket.socket) -> None:
    raw.recv(1024)
    raw.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")


def half_a_handshake(receiver: Receiver, raw: socket.socket) -> None:
    flight = first_flight(receiver, raw)
    raw.sendall(flight[: len(flight) // 2])
    receiver.stopping.wait(FOR_EVER)


def drip_the_handshake(receiver: Receiver, raw: socket.socket) -> None:
    for byte in itertools.chain(first_flight(receiver, raw)[:-1], itertools.repeat(0)):
        raw.sendall(bytes([byte]))
        if receiver.stopping.wait(0.01):
            return


def first_flight(receiver: Receiver, raw: socket.socket) -> bytes:
    """Return the TLS server's reply to the client's first message."""
    assert receiver.context is not None
    came, said = ssl.MemoryBIO(), ssl.MemoryBIO()
    side = receiver.context.wrap_bio(came, said, server_side=True)
    came.write(raw.recv(65_536))
    with contextlib.suppress(ssl.SSLWantReadError):
        side.do_handshake()
    return said.read()
