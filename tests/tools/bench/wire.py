"""Generate load over loopback from one thread.

Each connection is persistent and carries one request at a time. A request costs the generator only
tens of microseconds, so the figures show the speed of the server, not that of the generator.
"""

import re
import select
import socket
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

import orjson

LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
ANSWERED_WITHIN = 60.0  # seconds; the longest pause allowed between two responses
OK = b"HTTP/1.1 200 "


@dataclass
class Heard:
    """The responses that one run received. `wrong` contains the unexpected ones."""

    responses: int = 0
    seconds: float = 0.0  # duration of the run
    took: list[float] = field(default_factory=list)  # response times, in seconds
    bodies: list[bytes] = field(default_factory=list)
    wrong: list[bytes] = field(default_factory=list)
    cpu_seconds: float = 0.0  # CPU time of the load generator

    @property
    def a_second(self) -> float:
        return self.responses / self.seconds


def request(method: str, path: str, key: str, body: object = None) -> bytes:
    """Build the bytes of a request."""
    content = b"" if body is None else orjson.dumps(body)
    lines = [f"{method} /api{path} HTTP/1.1", "Host: 127.0.0.1", f"Authorization: Bearer {key}"]
    if body is not None:
        lines += ["Content-Type: application/json", f"Content-Length: {len(content)}"]
    return "\r\n".join([*lines, "", ""]).encode() + content


class Connection:
    """A persistent connection, and the response that it is receiving."""

    def __init__(self, port: int, request: bytes) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.request = request
        self.received = self.first = b""  # `first` is the body of the first response
        self.sent_at = 0.0

    def send(self) -> None:
        self.sent_at = time.perf_counter()
        self.socket.sendall(self.request)

    def receive(self) -> tuple[bytes, bytes] | None:
        """Read the available bytes. Returns the head and body of a complete response, or None."""
        part = self.socket.recv(262_144)
        if not part:
            raise ConnectionError("the server closed a connection")
        self.received += part
        head, end, body = self.received.partition(b"\r\n\r\n")
        if not end:
            return None
        found = LENGTH.search(head)
        if found is None or len(body) < int(found[1]):
            return None
        self.received = b""
        return head, body


def ask(connection: Connection, request: bytes) -> tuple[float, bytes]:
    """Send one request, and return the response time in seconds and the response body.

    Asserts that the status is 200.
    """
    connection.request = request
    connection.send()
    while (response := connection.receive()) is None:
        pass
    took = time.perf_counter() - connection.sent_at
    head, body = response
    assert head.startswith(OK), head + body
    return took, body


def begin(connections: Collection[Connection], spread: float) -> None:
    """Send the first requests of all connections, spaced evenly over `spread` seconds."""
    began = time.perf_counter()
    for number, connection in enumerate(connections):
        if spread:
            due = began + spread * number / len(connections)
            time.sleep(max(0.0, due - time.perf_counter()))
        connection.send()


def watch(numbers: Collection[int]) -> select.poll:
    """Watch file descriptors for incoming bytes."""
    poll = select.poll()
    for number in numbers:
        poll.register(number, select.POLLIN)
    return poll


def load(
    port: int,
    requests: Sequence[bytes],
    seconds: float,
    *,
    kept: bool = False,
    spread: float = 0.0,
    stopped: Callable[[], bool] = bool,
) -> Heard:
    """Send each request repeatedly over its own connection, for this many seconds.

    With `kept`, all bodies are kept. Otherwise, a body is recorded as wrong if it differs from the
    first body on its connection.
    Asserts that no pause between responses exceeds ANSWERED_WITHIN seconds.
    """
    heard = Heard()
    opened = {each.socket.fileno(): each for each in (Connection(port, one) for one in requests)}
    cpu, began = time.process_time(), time.perf_counter()
    begin(opened.values(), spread)
    poll, waiting = watch(opened), len(opened)
    while waiting:
        ready = poll.poll(ANSWERED_WITHIN * 1000)
        assert ready, "no response in time"
        for number, _ in ready:
            connection = opened[number]
            if (response := connection.receive()) is None:
                continue
            now = time.perf_counter()
            heard.took.append(now - connection.sent_at)
            note(heard, connection, *response, kept=kept)
            if now - began >= seconds or stopped():
                waiting -= 1
                poll.unregister(number)  # otherwise, poll() would return when the server closes it
            else:
                connection.send()
    heard.seconds = time.perf_counter() - began
    heard.cpu_seconds = time.process_time() - cpu
    for connection in opened.values():
        connection.socket.close()
    return heard


def note(heard: Heard, connection: Connection, head: bytes, body: bytes, *, kept: bool) -> None:
    """Count a response. Keep its body if `kept` is set or it is the first body on its connection.

    If the response is wrong, it is added to `heard.wrong` instead.
    """
    heard.responses += 1
    if not head.startswith(OK):
        heard.wrong.append(head + b"\r\n\r\n" + body)
    elif kept or not connection.first:
        connection.first = body
        heard.bodies.append(body)
    elif body != connection.first:
        heard.wrong.append(body)
