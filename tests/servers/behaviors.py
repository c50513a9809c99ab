"""Behaviors of a test server: valid and hostile ways to respond to a request.

A behavior is called with the request and yields steps: bytes to send, a pause in seconds, or CLOSE
or RESET, which end the connection. After the last step, the server waits for the next request.
"""

import gzip
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache

CLOSE, RESET = object(), object()
FOR_EVER = 3600.0

Step = bytes | float | object


@dataclass(frozen=True, slots=True)
class Arrival:
    """A request exactly as it was received: the headers are not normalized, and the body is raw.

    `monotonic` and `wall` are the times of arrival, in seconds, according to the monotonic clock
    and the wall clock.
    """

    monotonic: float
    wall: float
    method: str
    path: str
    headers: list[tuple[str, str]]
    body: bytes
    connection: int

    def header(self, name: str) -> str | None:
        """Return the first value of a header. The name is matched case-insensitively."""
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)


Behavior = Callable[[Arrival], Iterable[Step]]


def head(status: int, *headers: str, length: int | None = None) -> bytes:
    lines = [f"HTTP/1.1 {status} Said", *headers]
    if length is not None:
        lines.append(f"Content-Length: {length}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def steps(*those: Step) -> Behavior:
    """Return a behavior that takes the same steps for every request."""
    return lambda arrival: those


def answer(status: int = 200, body: bytes = b"", *headers: str, delay: float = 0.0) -> Behavior:
    whole = head(status, *headers, length=len(body)) + body
    return steps(delay, whole) if delay else steps(whole)


def redirect(to: str, status: int = 302) -> Behavior:
    return answer(status, b"elsewhere", f"Location: {to}")


def hang_up(said: bytes = b"") -> Behavior:
    return steps(said, CLOSE)


def reset(said: bytes = b"") -> Behavior:
    return steps(said, RESET)


def stall(said: bytes = b"") -> Behavior:
    return steps(said, FOR_EVER)


def early_hints(status: int = 200) -> Behavior:
    hints = head(100) + head(103, "Link: </style.css>; rel=preload") + head(102)
    return steps(hints + head(status, length=0))


def repeat(first: bytes, again: bytes, *, gap: float = 0.0) -> Behavior:
    """Return a behavior that sends `first` and then keeps sending `again`, every `gap` seconds."""

    def endless(arrival: Arrival) -> Iterator[Step]:
        yield first
        while True:
            yield again
            if gap:
                yield gap

    return endless


def drip_headers(gap: float = 0.05) -> Behavior:
    return repeat(b"HTTP/1.1 200 OK\r\nX-Drip: ", b"a", gap=gap)


def drip_header_lines(gap: float = 0.05) -> Behavior:
    return repeat(b"HTTP/1.1 200 OK\r\n", b"X-Drip: a\r\n", gap=gap)


def drip_body(status: int = 200, gap: float = 0.05) -> Behavior:
    return repeat(head(status, length=1_000_000), b"a", gap=gap)


def drip_interim(gap: float = 0.05) -> Behavior:
    return repeat(b"", head(102), gap=gap)


def endless_headers() -> Behavior:
    return repeat(b"HTTP/1.1 200 OK\r\n", b"X-Endless: " + b"a" * 1000 + b"\r\n")


def endless_line() -> Behavior:
    return repeat(b"HTTP/1.1 200 OK\r\nX-Endless: ", b"a" * 1000)


def endless_body(status: int = 200, *headers: str) -> Behavior:
    return repeat(head(status, *headers), b"a" * 65_536)


def endless_chunk() -> Behavior:
    """Return a behavior that announces a chunk of negative length and never stops sending it."""
    first = head(200, "Transfer-Encoding: chunked") + b"1\r\na\r\n-5\r\n"
    return repeat(first, b"a" * 65_536)


def endless_trailers() -> Behavior:
    first = head(200, "Transfer-Encoding: chunked") + b"1\r\na\r\n0\r\n"
    return repeat(first, b"X-Endless: a\r\n" * 1_000)


def endless_extensions() -> Behavior:
    """Return a behavior that sends chunks of one byte, each with a long chunk extension."""
    first = head(200, "Transfer-Encoding: chunked")
    return repeat(first, b"1;a=" + b"b" * 60_000 + b"\r\na\r\n")


def flood_of_interim() -> Behavior:
    return repeat(b"", head(102) * 100)


def bomb(megabytes: int = 64) -> Behavior:
    """Return a behavior that sends a small body that decompresses to a large one."""
    return answer(200, packed(megabytes), "Content-Encoding: gzip")


@cache
def packed(megabytes: int) -> bytes:
    """Return compressed zeros. The result is cached, because compression is slow."""
    return gzip.compress(bytes(megabytes * 1024 * 1024), 9)
