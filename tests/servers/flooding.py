"""Flood TLS clients with records that contain no application data.

OpenSSL reads such records in a loop as long as more of them arrive.
"""

import itertools
import socket
import ssl
import struct
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA384
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

from tests.servers import certificates
from tests.servers.behaviors import head
from tests.servers.receiver import Receiver, read_request

FLOOD_SECONDS = 10.0  # maximum duration of a flood, so that no client is stuck forever
HANDSHAKE = 22  # the TLS content type of handshake messages
RECORD = 16_000  # bytes of handshake messages per record; the maximum is 16,384
# A handshake message that asks for a renegotiation. During a handshake, clients ignore it.
HELLO_REQUEST = bytes(4)
TICKET = struct.pack("!IIB", 7200, 1, 0) + b"\x00\x01x" + b"\x00\x00"
NEW_SESSION_TICKET = struct.pack("!I", 4 << 24 | len(TICKET)) + TICKET


def flood_the_handshake(receiver: Receiver, raw: socket.socket) -> None:
    """Answer the client's first message with HelloRequest messages, each in a separate record."""
    raw.recv(65_536)
    record = struct.pack("!BHH", HANDSHAKE, 0x0303, len(HELLO_REQUEST)) + HELLO_REQUEST
    _send(receiver, raw, itertools.repeat(record * 10_000))


def flood_the_response(receiver: Receiver, raw: socket.socket) -> None:
    """Read a request, and then send session tickets instead of a response."""
    _flood(receiver, raw, first=b"")


def flood_the_body(receiver: Receiver, raw: socket.socket) -> None:
    """Respond to a request with the headers and part of the body, and then send session tickets."""
    _flood(receiver, raw, first=head(200, length=10) + b"123")


def _flood(receiver: Receiver, raw: socket.socket, *, first: bytes) -> None:
    context = certificates.good_of_its_own()
    context.num_tickets = 0
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    with tempfile.NamedTemporaryFile() as log, raw.dup() as wire:
        context.keylog_filename = log.name
        sock = context.wrap_socket(raw, server_side=True)
        with sock, sock.makefile("rb") as file:
            read_request(file, 1)
            records = _records_of_tickets(sock, Path(log.name), sent=1 if first else 0)
            sock.sendall(first)
            _send(receiver, wire, records)


def _send(receiver: Receiver, wire: socket.socket, parts: Iterator[bytes]) -> None:
    ends = time.monotonic() + FLOOD_SECONDS
    for part in parts:
        if receiver.stopping.is_set() or time.monotonic() > ends:
            return
        wire.sendall(part)


def _records_of_tickets(sock: ssl.SSLSocket, log: Path, *, sent: int) -> Iterator[bytes]:
    """Yield encrypted records full of session tickets, numbered from `sent` upward.

    Python's ssl module cannot be told to send session tickets. The records are therefore encrypted
    here, with the key that the module logs.
    """
    secrets = dict(line.split()[::2] for line in log.read_text().splitlines() if line[0] != "#")
    secret = bytes.fromhex(secrets["SERVER_TRAFFIC_SECRET_0"])
    name, _, bits = sock.cipher() or ("", "", 0)
    assert name == "TLS_AES_256_GCM_SHA384", name
    key = AESGCM(_expand(secret, b"key", bits // 8))
    base = int.from_bytes(_expand(secret, b"iv", 12))
    plain = NEW_SESSION_TICKET * (RECORD // len(NEW_SESSION_TICKET)) + bytes([HANDSHAKE])
    start = struct.pack("!BHH", 23, 0x0303, len(plain) + 16)
    while True:
        yield start + key.encrypt((base ^ sent).to_bytes(12), plain, start)
        sent += 1


def _expand(secret: bytes, label: bytes, length: int) -> bytes:
    """Derive a key or an IV with TLS 1.3's HKDF-Expand-Label function (RFC 8446, section 7.1)."""
    whole = b"tls13 " + label
    info = struct.pack("!HB", length, len(whole)) + whole + b"\0"
    return HKDFExpand(SHA384(), length, info).derive(secret)
