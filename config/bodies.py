"""Receive a request's body before the request enters the gate. Open point: body-bounds.

A thread that waits for a body cannot be interrupted, so a client that sends slowly occupies it
until the client disconnects. Therefore, bodies occupy at most four fifths of the threads, and those
of one address at most half of that. Behind a proxy that buffers bodies, no thread waits.
"""

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from io import BytesIO
from typing import TYPE_CHECKING, Any, NoReturn

from django.conf import settings

from config.api.errors import REFUSAL, ApiError, InvalidRequest, Unavailable
from config.api.limits import Room
from config.api.strict_json import MAX_BYTES
from config.middleware import client_address, counted_as

if TYPE_CHECKING:
    from _typeshed.wsgi import InputStream, WSGIEnvironment

DISCARDED = 8 * 1024 * 1024  # maximum number of bytes beyond a body's limit to read and discard
PIECE = 16 * 1024  # number of bytes to wait for at a time
HELD = 64 * 1024 * 1024  # maximum total size of all bodies, without the first PIECE of each
LATE = f"Not received within {settings.BODY_TIMEOUT:g} seconds"
ENDED = "Ended before its declared length"


def refuse(most: int) -> NoReturn:
    """Refuse a body, because the room for bodies is full. Raises Unavailable."""
    raise Unavailable


threads = Room(
    max(1, settings.WEB_THREADS * 4 // 5), max(1, settings.WEB_THREADS * 2 // 5), refuse=refuse
)
memory = Room(HELD, HELD // 4, refuse=refuse)


def read(stream: "InputStream", declared: int, bound: int) -> tuple[bytes, int, bool]:
    """Read a body of `declared` bytes, or of unknown length if that is 0.

    Returns the body, its length, and whether it was read to its end. A body that is longer than
    `bound` is read and discarded, so that the client gets to read the response, but only up to
    DISCARDED bytes. Raises InvalidRequest if the body takes longer than BODY_TIMEOUT or is
    incomplete. The time is checked after each PIECE.
    """
    most, kept, length = bound + DISCARDED, bytearray(), 0
    if declared > most:
        return b"", declared, False
    deadline = time.monotonic() + settings.BODY_TIMEOUT
    while piece := stream.read(min(PIECE, (declared or most + 1) - length)):
        length += len(piece)
        if length <= bound:
            kept += piece
        if time.monotonic() > deadline:
            raise InvalidRequest.at([], LATE)
    if length < declared:
        raise InvalidRequest.at([], ENDED)
    return bytes(kept), length, length <= most


@contextmanager
def received(environ: "WSGIEnvironment") -> Iterator[list[tuple[str, str]]]:
    """Replace a request's input stream by its whole body, and hold that while the request runs.

    If the body is refused, the input is empty and REFUSAL holds the error, which InputMiddleware
    reports. Yields the headers to add to the response: if part of the body is unread, the
    connection must be closed.
    """
    declared = int(environ.get("CONTENT_LENGTH") or 0)
    if not declared and "HTTP_TRANSFER_ENCODING" not in environ:
        yield []
        return
    address, complete = counted_as(client_address(environ)), False
    is_api = environ["PATH_INFO"].startswith("/api/")
    bound: Any = MAX_BYTES if is_api else settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    with ExitStack() as held:
        try:
            with threads.part(address):
                beyond = max(0, min(declared or bound, bound) - PIECE)
                held.enter_context(memory.part(address, beyond))
                body, length, complete = read(environ["wsgi.input"], declared, bound)
        except ApiError as refusal:
            body, length, environ[REFUSAL] = b"", declared, refusal
        environ["wsgi.input"], environ["CONTENT_LENGTH"] = BytesIO(body), str(length)
        yield [] if complete else [("Connection", "close")]
