"""A receiver of webhooks for those who integrate: it takes requests, judges them, and can fail.

It listens on loopback alone and keeps nothing; what came is handed over in a queue.
"""

import hmac
import json
import select
import ssl
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.message import Message
from enum import Enum, StrEnum
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from io import BufferedReader
from itertools import count
from pathlib import Path
from queue import SimpleQueue
from socketserver import ThreadingTCPServer
from typing import Any

from webhooks import signing

HOST = "127.0.0.1"
MOST_BYTES = 2 * 1024 * 1024  # of a body
QUIET_SECONDS = 60.0  # until a connection is closed on which nothing comes
DRIP_SECONDS = 0.5  # from one byte of a dripping answer to the next
SHOWN = ("X-SIGNATURE",)  # of a request's headers; never the token, which is the secret
WITHOUT_BODY = (HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED)


class Manner(Enum):
    """How a request is answered."""

    ANSWER = "answer"
    DRIP = "drip"
    CLOSE = "close"


@dataclass(frozen=True, slots=True)
class Behaviour:
    """What is done to a request. With `times` only to so many; those that follow are taken."""

    status: int = 200
    delay: float = 0.0  # seconds before the answer
    location: str = ""
    manner: Manner = Manner.ANSWER
    times: int | None = None

    def at(self, number: int) -> "Behaviour":
        """Say what is done to the request of this number; the first is 1."""
        return self if self.times is None or number <= self.times else Behaviour()

    def __str__(self) -> str:
        """Name it for people."""
        what = str(self.status) if self.manner is Manner.ANSWER else self.manner.value
        return f"{what} after {self.delay:g} s" if self.delay else what


class Verdict(StrEnum):
    """What came of comparing a header with what it must be."""

    OK = "ok"
    WRONG = "wrong"
    MISSING = "missing"
    NOT_CHECKED = "not checked"


@dataclass(frozen=True, slots=True)
class Arrival:
    """A request that came whole, and what is done to it."""

    number: int
    path: str
    headers: dict[str, str]  # those of SHOWN that came
    body: bytes
    token: Verdict
    signature: Verdict
    behaviour: Behaviour
    received_at: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def event(self) -> str | None:
        """The event that the body names, if it names one."""
        try:
            envelope = json.loads(self.body)
        except (ValueError, RecursionError):
            return None
        event = envelope.get("event") if isinstance(envelope, dict) else None
        return event if isinstance(event, str) else None


@dataclass(frozen=True, slots=True)
class Mishap:
    """A caller from whom no whole request came; says why, and what to do."""

    text: str


def judge(given: str | None, expected: str) -> Verdict:
    """Compare a header with what it must be, in a time that tells nothing of it."""
    if given is None:
        return Verdict.MISSING
    same = hmac.compare_digest(given.encode(errors="replace"), expected.encode())
    return Verdict.OK if same else Verdict.WRONG


class Sink(ThreadingTCPServer):
    """The server, as a context manager. Raises OSError where it cannot listen."""

    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 128

    def __init__(
        self, port: int, *, chain: Path, behaviour: Behaviour, secret: str | None = None
    ) -> None:
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(chain)
        self.behaviour, self.secret = behaviour, secret
        self.numbers: Iterator[int] = count(1)
        self.stopping = threading.Event()
        self.happened: SimpleQueue[Arrival | Mishap] = SimpleQueue()
        super().__init__((HOST, port), _Handler)

    @property
    def url(self) -> str:
        """The address that events can be sent to."""
        return f"https://{HOST}:{self.server_address[1]}/"

    def __enter__(self) -> "Sink":
        """Begin to serve, in a thread of its own."""
        threading.Thread(target=self.serve_forever, args=(0.1,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop, whatever is under way."""
        self.stopping.set()
        self.shutdown()
        self.server_close()

    # Any: socketserver's requests are sockets or pairs, by the kind of server
    def finish_request(self, request: Any, client_address: Any) -> None:
        """Shake hands in the connection's own thread, then go on to its requests."""
        request.settimeout(QUIET_SECONDS)
        try:
            with self.context.wrap_socket(request, server_side=True) as secured:
                super().finish_request(secured, client_address)
        except ssl.SSLError as error:
            if advice := _advice(error):
                self.happened.put(Mishap(advice))

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Pass over callers who go away: a sink that fails on purpose makes them do so."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)

    def arrive(self, path: str, headers: Message, body: bytes) -> Arrival:
        """Judge a request and hand it over."""
        token = signature = Verdict.NOT_CHECKED
        if self.secret is not None:
            token = judge(headers.get("X-WEBHOOK-TOKEN"), self.secret)
            signature = judge(headers.get("X-SIGNATURE"), signing.signature(body, self.secret))
        shown = {name: headers[name] for name in SHOWN if name in headers}
        number = next(self.numbers)
        arrival = Arrival(number, path, shown, body, token, signature, self.behaviour.at(number))
        self.happened.put(arrival)
        return arrival


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "webhook-sink", ""
    server: Sink
    rfile: BufferedReader

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal():
            self.refuse(HTTPStatus.LENGTH_REQUIRED, "a request without Content-Length")
        elif len(length) > len(str(MOST_BYTES)) or int(length) > MOST_BYTES:
            self.refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a body over {MOST_BYTES} bytes")
        else:
            body = self.rfile.read(int(length))
            if len(body) == int(length):  # else the caller went away
                self.answer(self.server.arrive(self.path, self.headers, body))

    def answer(self, arrival: Arrival) -> None:
        behaviour = arrival.behaviour
        if self.server.stopping.wait(behaviour.delay) or behaviour.manner is Manner.CLOSE:
            self.close_connection = True
            return
        if behaviour.delay and self.caller_is_gone():
            gone = f"#{arrival.number}: the caller hung up before the answer"
            self.server.happened.put(Mishap(gone))
            self.close_connection = True
            return
        self.send_response(behaviour.status)
        if behaviour.location:
            self.send_header("Location", behaviour.location)
        if behaviour.manner is Manner.DRIP:
            self.drip()
            return
        if behaviour.status not in WITHOUT_BODY:
            self.send_header("Content-Length", "0")
        self.end_headers()

    def caller_is_gone(self) -> bool:
        waiting = select.poll()
        waiting.register(self.connection, select.POLLIN)
        try:  # there is something to read: another request, or the end
            return bool(waiting.poll(0)) and not self.rfile.peek(1)
        except OSError:
            return True

    def drip(self) -> None:
        """Send a head that never ends, byte by byte, until the caller has enough."""
        self.flush_headers()
        self.wfile.write(b"X-Drip: ")
        while not self.server.stopping.wait(DRIP_SECONDS):
            self.wfile.write(b".")
        self.close_connection = True

    def refuse(self, status: HTTPStatus, what: str) -> None:
        self.server.happened.put(Mishap(f"{what} was refused with {status.value}"))
        self.close_connection = True
        self.send_error(status)

    # Any: whatever the base formats
    def log_message(self, *_: Any) -> None:
        """Write nothing: who takes from the queue says what came."""


def _advice(error: ssl.SSLError) -> str:
    """Say what a caller did wrong, or nothing of one that only knocked."""
    match error.reason:
        case "TLSV1_ALERT_UNKNOWN_CA" | "SSLV3_ALERT_BAD_CERTIFICATE":
            return "a caller does not trust the certificate: was it started with WEBHOOK_CA_BUNDLE?"
        case "HTTP_REQUEST":
            return "a caller spoke plain HTTP: the URL must begin with https://"
        case "UNEXPECTED_EOF_WHILE_READING" | None:
            return ""
        case reason:
            return f"a caller failed to shake hands: {reason.replace('_', ' ').lower()}"
