"""Receive request bodies on the event loop, within limits on time and memory."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from granian._granian import RSGIProtocolClosed as ProtocolClosed
from granian.rsgi import Scope

from config.api.body import MAX_BYTES
from config.api.errors import ApiError, InvalidRequest, Unavailable

HTTPProtocol = Any  # granian's RSGIHTTPProtocol

DISCARDED = 8 * 1024 * 1024  # maximum number of bytes beyond a body's limit to read and discard
SMALL = 16 * 1024  # number of bytes of each body that do not count toward HELD
HELD = 64 * 1024 * 1024  # maximum total size of all pending bodies, in bytes
SHARE = HELD // 4  # maximum total size of one address's pending bodies, in bytes
LATE = f"Not received within {settings.BODY_TIMEOUT:g} seconds"
ENDED = "Ended before its declared length"


class Room:
    """Tracks the memory used by bodies. Needs no lock, because only the event loop uses it."""

    def __init__(self) -> None:
        self.taken = 0
        self.shares: Counter[str] = Counter()  # by address

    def take(self, size: int, address: str) -> None:
        """Reserve memory for part of a body. Raises Unavailable if too little is left."""
        if self.taken + size > HELD or self.shares[address] + size > SHARE:
            raise Unavailable
        self.taken += size
        self.shares[address] += size

    def release(self, size: int, address: str) -> None:
        """Free memory that was reserved."""
        self.taken -= size
        self.shares[address] -= size
        if not self.shares[address]:
            del self.shares[address]


room = Room()


@dataclass
class Body:
    """The part of a request's body that has been received."""

    length: int  # the declared or the received length, whichever is longer; can exceed len(kept)
    kept: bytearray = field(default_factory=bytearray)
    complete: bool = True  # whether the whole body has been read from the connection
    refusal: ApiError | None = None
    address: str = ""  # the client's address
    charged: int = 0  # bytes reserved in `room`

    def add(self, part: bytes) -> None:
        """Append a part, and reserve memory for everything beyond SMALL. Raises Unavailable."""
        self.kept += part
        beyond = len(self.kept) - SMALL - self.charged
        if beyond > 0:
            room.take(beyond, self.address)
            self.charged += beyond

    def refuse(self, error: ApiError) -> None:
        """Discard what was received and record the error. The response closes the connection."""
        self.kept.clear()
        self.release()
        self.complete, self.refusal = False, error

    def release(self) -> None:
        """Free the memory reserved for this body."""
        if self.charged:  # always 0 for small bodies, which other threads may release
            room.release(self.charged, self.address)
            self.charged = 0


def has_body(scope: Scope) -> bool:
    """Return whether a request's headers declare a body."""
    return "content-length" in scope.headers or "transfer-encoding" in scope.headers


def bound_of(path: str) -> int:
    """Return the maximum length of a request's body, in bytes."""
    return MAX_BYTES if path.startswith("/api/") else settings.DATA_UPLOAD_MAX_MEMORY_SIZE


async def whole(protocol: HTTPProtocol) -> AsyncIterator[bytes]:
    """Yield a body as one part, or nothing if the client disconnects before sending all of it."""
    with suppress(ProtocolClosed):
        yield await protocol()


async def receive(scope: Scope, protocol: HTTPProtocol, address: str) -> Body:
    """Receive a request's body, up to its bound and within BODY_TIMEOUT.

    If the body is longer, the rest is discarded, so that the connection can be reused. A body that
    exceeds its bound by more than DISCARDED is not read to the end, and the connection is closed.

    Granian ends a chunked body with an empty part. If the client disconnects, or sends an invalid
    chunk or any trailers, granian yields one more empty part.
    """
    declared = scope.headers.get("content-length")
    body, bound = Body(int(declared or 0), address=address), bound_of(scope.path)
    if not has_body(scope):
        return body
    received, most, empty = 0, bound + DISCARDED, 0
    try:
        async with asyncio.timeout(settings.BODY_TIMEOUT):
            if body.length <= most:
                at_once = declared is not None and body.length <= SMALL  # cheaper
                async for part in whole(protocol) if at_once else protocol:
                    received += len(part)
                    empty += not part
                    if received <= bound:
                        body.add(part)
                    elif received > most:
                        break
    except TimeoutError:
        body.refuse(InvalidRequest.at([], LATE))
    except Unavailable as refusal:
        body.refuse(refusal)
    except BaseException:
        body.release()
        raise
    else:
        if received < body.length <= most:
            body.refuse(InvalidRequest.at([], ENDED))
        elif "transfer-encoding" in scope.headers and empty > 1:
            body.refuse(InvalidRequest.at([], "Expected complete chunks without trailers"))
    body.length = max(body.length, received)
    body.complete = body.complete and body.length <= most
    return body
