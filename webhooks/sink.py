"""A webhook receiver for integrators: it verifies requests and can fail on purpose.

It listens only on loopback and stores nothing but its own certificate.
"""

import hmac
import ipaddress
import json
import ssl
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.message import Message
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from itertools import count
from pathlib import Path
from socketserver import ThreadingTCPServer
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from webhooks import signing

HOST = "127.0.0.1"
NAMES = (x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address(HOST)))
VALID = timedelta(days=3650)
CERTIFICATE, KEY = "ca.pem", "server.pem"
QUIET_SECONDS = 60.0  # time after which an idle connection is closed
WITHOUT_BODY = (HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED)
DISCONNECTED = "UNEXPECTED_EOF_WHILE_READING"
ADVICE = "was the caller started with WEBHOOK_CA_BUNDLE, and does the URL begin with https://?"
Record = dict[str, Any]  # Any: a record's values can have any type


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


class Sink(ThreadingTCPServer):
    """The server. Raises OSError if it cannot listen.

    `arrived` is called with a record of each request, and `refused` with the reason why a
    connection failed. Both are called by the connection's own thread.
    """

    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 128

    def __init__(
        self,
        port: int,
        *,
        folder: Path,
        behavior: Behavior,
        secret: str | None,
        arrived: Callable[[Record], None],
        refused: Callable[[str], None],
    ) -> None:
        self.behavior, self.secret = behavior, secret
        self.arrived, self.refused = arrived, refused
        self.numbers = count(1)
        super().__init__((HOST, port), _Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / KEY)
        # A connection's handshake is part of its first read, which its own thread does.
        self.socket = context.wrap_socket(
            self.socket, server_side=True, do_handshake_on_connect=False
        )

    @property
    def url(self) -> str:
        """The URL to send events to."""
        return f"https://{HOST}:{self.server_address[1]}/"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Explain failed handshakes. Ignore disconnects, which are expected from a failing sink."""
        error = sys.exception()
        if isinstance(error, ssl.SSLError) and error.reason not in (None, DISCONNECTED):
            self.refused(f"a TLS handshake failed ({error.reason}): {ADVICE}")
        elif not isinstance(error, OSError):
            super().handle_error(request, client_address)

    def verdicts(self, headers: Message, body: bytes) -> dict[str, str]:
        """Compare a request's token and signature with the expected ones, in constant time."""
        if self.secret is None:
            return {"token": "not checked", "signature": "not checked"}
        signature = signing.signature(body, self.secret)
        return {
            "token": _compared(headers.get(signing.TOKEN), self.secret),
            "signature": _compared(headers.get(signing.SIGNATURE), signature),
        }


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "webhook-sink", ""
    timeout = QUIET_SECONDS
    server: Sink

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        body = self.rfile.read(length)
        if len(body) < length:  # the caller disconnected
            return
        number = next(self.server.numbers)
        behavior = self.server.behavior.at(number)
        signature = self.headers.get(signing.SIGNATURE)  # the token is not shown: it is secret
        self.server.arrived(
            {
                "number": number,
                "receivedAt": datetime.now(UTC),
                "path": self.path,
                "headers": {} if signature is None else {signing.SIGNATURE: signature},
                "event": _event(body),
                **self.server.verdicts(self.headers, body),
                "answer": str(behavior),
                "body": body.decode(errors="backslashreplace"),
            }
        )
        time.sleep(behavior.delay)
        self.send_response(behavior.status)
        if behavior.status not in WITHOUT_BODY:
            self.send_header("Content-Length", "0")
        self.end_headers()

    # Any: the base class formats values of any type
    def log_message(self, *_: Any) -> None:
        """Log nothing, because `arrived` reports requests."""


def make_certificate(folder: Path) -> None:
    """Create a self-signed certificate and its key, unless the folder has them. Raises OSError.

    A client that trusts the certificate trusts only this receiver.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if (folder / CERTIFICATE).exists():
        return
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, HOST)])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))  # allows for clock skew
        .not_valid_after(now + VALID)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName(NAMES), critical=False)
        .sign(key, hashes.SHA256())
    )
    certificate = made.public_bytes(serialization.Encoding.PEM)
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    (folder / KEY).touch(mode=0o600)
    (folder / KEY).write_bytes(private + certificate)
    (folder / CERTIFICATE).write_bytes(certificate)


def _compared(given: str | None, expected: str) -> str:
    if given is None:
        return "missing"
    same = hmac.compare_digest(given.encode(errors="replace"), expected.encode())
    return "ok" if same else "wrong"


def _event(body: bytes) -> str | None:
    """Return the event named in a body, or None if it names no event."""
    try:
        event = json.loads(body)["event"]
    except (ValueError, TypeError, LookupError, RecursionError):
        return None
    return event if isinstance(event, str) else None
