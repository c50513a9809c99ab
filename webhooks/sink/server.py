"""A webhook receiver for integrators: it verifies requests and can fail on purpose.

It listens only on loopback and stores nothing. Received requests are put on a queue.
"""

import hmac
import json
import ssl
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.message import Message
from enum import StrEnum
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from itertools import count
from pathlib import Path
from queue import SimpleQueue
from socketserver import ThreadingTCPServer
from typing import Any

from webhooks import signing

HOST = "127.0.0.1"
MOST_BYTES = 2 * 1024 * 1024  # maximum size of a request's body
QUIET_SECONDS = 60.0  # time after which an idle connection is closed
SHOWN = (signing.SIGNATURE,)  # request headers to show; the token is omitted because it is secret
WITHOUT_BODY = (HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED)


@dataclass(frozen=True, slots=True)
class Behavior:
    """How to respond to the first `times` requests, or to all requests if `times` is None.

    Later requests are accepted.
    """

    status: int = 200
    delay: float = 0.0  # seconds before the response
    times: int | None = None

    def at(self, number: int) -> "Behavior":
        """Return how to respond to request `number`, counting from 1."""
        return self if self.times is None or number <= self.times else Behavior()

    def __str__(self) -> str:
        """Describe the response in a few words."""
        return f"{self.status} after {self.delay:g} s" if self.delay else str(self.status)


class Verdict(StrEnum):
    """The result of comparing a header with its expected value."""

    OK = "ok"
    WRONG = "wrong"
    MISSING = "missing"
    NOT_CHECKED = "not checked"


@dataclass(frozen=True, slots=True)
class Arrival:
    """A fully received request, the results of its checks, and how to respond to it."""

    number: int
    path: str
    headers: dict[str, str]  # the SHOWN headers that were present
    body: bytes
    token: Verdict
    signature: Verdict
    behavior: Behavior
    received_at: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def event(self) -> str | None:
        """The event named in the body, or None if the body names no event."""
        try:
            envelope = json.loads(self.body)
        except (ValueError, RecursionError):
            return None
        event = envelope.get("event") if isinstance(envelope, dict) else None
        return event if isinstance(event, str) else None


@dataclass(frozen=True, slots=True)
class Mishap:
    """A connection or a request that failed. The text says why."""

    text: str


def compare(given: str | None, expected: str) -> Verdict:
    """Compare a header with its expected value, in constant time."""
    if given is None:
        return Verdict.MISSING
    same = hmac.compare_digest(given.encode(errors="replace"), expected.encode())
    return Verdict.OK if same else Verdict.WRONG


class Sink(ThreadingTCPServer):
    """The server, as a context manager. Raises OSError if it cannot listen."""

    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 128

    def __init__(
        self, port: int, *, chain: Path, behavior: Behavior, secret: str | None = None
    ) -> None:
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(chain)
        self.behavior, self.secret = behavior, secret
        self.numbers: Iterator[int] = count(1)
        self.stopping = threading.Event()
        self.happened: SimpleQueue[Arrival | Mishap] = SimpleQueue()
        super().__init__((HOST, port), _Handler)

    @property
    def url(self) -> str:
        """The URL to send events to."""
        return f"https://{HOST}:{self.server_address[1]}/"

    def __enter__(self) -> "Sink":
        """Start serving requests in a separate thread."""
        threading.Thread(target=self.serve_forever, args=(0.1,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop, even while requests are in progress."""
        self.stopping.set()
        self.shutdown()
        self.server_close()

    # Any: socketserver's requests are sockets or pairs, depending on the kind of server
    def finish_request(self, request: Any, client_address: Any) -> None:
        """Do the TLS handshake in the connection's own thread, and then serve its requests."""
        request.settimeout(QUIET_SECONDS)
        try:
            with self.context.wrap_socket(request, server_side=True) as secured:
                super().finish_request(secured, client_address)
        except ssl.SSLError as error:
            if advice := _advice(error):
                self.happened.put(Mishap(advice))

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore disconnects, which are expected when the sink fails on purpose."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)

    def arrive(self, path: str, headers: Message, body: bytes) -> Arrival:
        """Verify a request and put it on the queue."""
        token = signature = Verdict.NOT_CHECKED
        if self.secret is not None:
            token = compare(headers.get(signing.TOKEN), self.secret)
            signature = compare(
                headers.get(signing.SIGNATURE), signing.signature(body, self.secret)
            )
        shown = {name: headers[name] for name in SHOWN if name in headers}
        number = next(self.numbers)
        arrival = Arrival(number, path, shown, body, token, signature, self.behavior.at(number))
        self.happened.put(arrival)
        return arrival


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "webhook-sink", ""
    server: Sink

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal():
            self.refuse(HTTPStatus.LENGTH_REQUIRED, "a request without Content-Length")
        elif len(length) > len(str(MOST_BYTES)) or int(length) > MOST_BYTES:
            self.refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a body over {MOST_BYTES} bytes")
        else:
            body = self.rfile.read(int(length))
            if len(body) == int(length):  # a shorter body means that the caller disconnected
                self.answer(self.server.arrive(self.path, self.headers, body))

    def answer(self, arrival: Arrival) -> None:
        behavior = arrival.behavior
        if self.server.stopping.wait(behavior.delay):
            self.close_connection = True
            return
        self.send_response(behavior.status)
        if behavior.status not in WITHOUT_BODY:
            self.send_header("Content-Length", "0")
        self.end_headers()

    def refuse(self, status: HTTPStatus, what: str) -> None:
        self.server.happened.put(Mishap(f"{what} was refused with {status.value}"))
        self.close_connection = True
        self.send_error(status)

    # Any: the base class formats values of any type
    def log_message(self, *_: Any) -> None:
        """Log nothing, because the consumer of the queue reports requests."""


def _advice(error: ssl.SSLError) -> str:
    """Explain what a caller did wrong. Returns "" if the caller disconnected."""
    match error.reason:
        case "TLSV1_ALERT_UNKNOWN_CA" | "SSLV3_ALERT_BAD_CERTIFICATE":
            return "a caller does not trust the certificate: was it started with WEBHOOK_CA_BUNDLE?"
        case "HTTP_REQUEST":
            return "a caller used plain HTTP: the URL must begin with https://"
        case "UNEXPECTED_EOF_WHILE_READING" | None:
            return ""
        case reason:
            return f"a caller's TLS handshake failed: {reason.replace('_', ' ').lower()}"
