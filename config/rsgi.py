"""The web server's entry point: the event loop receives whole requests, threads answer them.

A thread that reads a body waits as long as the client takes to send it. Here only the event loop
waits, so a slow client holds a connection and some bytes, but neither a thread nor a database
connection.
"""

import asyncio
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from io import BytesIO
from typing import TYPE_CHECKING, Any

from django.conf import settings
from granian.rsgi import Scope

from config.api.body import MAX_BYTES, REFUSAL
from config.api.errors import ApiError, InvalidRequest, Unavailable
from config.database.postgresql.outage import outage
from config.wsgi import application as django

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

HTTPProtocol = Any  # granian's types leave it out, and some methods of a request's headers

DISCARDED = 8 * 1024 * 1024  # bytes of a body beyond its bound that are read and discarded
SMALL = 16 * 1024  # bytes of each body that do not count towards HELD
HELD = 64 * 1024 * 1024  # bytes beyond SMALL, of all unanswered requests together

outage.watched = not settings.EMBEDDED
threads = ThreadPoolExecutor(settings.WEB_THREADS, thread_name_prefix="web")


class Room:
    """The memory for bodies in this process. It needs no lock: only the event loop uses it."""

    def __init__(self) -> None:
        self.taken = 0

    def take(self, size: int) -> None:
        """Take memory for part of a body. Raises Unavailable."""
        if self.taken + size > HELD:
            raise Unavailable
        self.taken += size


room = Room()


@dataclass
class Body:
    """The received part of a request's body."""

    length: int  # as declared, or else as received, which may be more than was kept
    kept: bytearray = field(default_factory=bytearray)
    complete: bool = True  # nothing of it remains on the connection
    refusal: ApiError | None = None
    charged: int = 0  # bytes taken from the room

    def add(self, part: bytes) -> None:
        """Append a part, and take memory for it beyond SMALL. Raises Unavailable."""
        self.kept += part
        if len(self.kept) > SMALL + self.charged:
            room.take(len(part))
            self.charged += len(part)

    def refuse(self, error: ApiError) -> None:
        """Drop the body and skip the rest. The connection is closed after the response."""
        self.kept.clear()
        self.complete, self.refusal = False, error


def bound_of(path: str) -> int:
    """Return the most bytes that a request's body may have."""
    return MAX_BYTES if path.startswith("/api/") else settings.DATA_UPLOAD_MAX_MEMORY_SIZE


async def receive(scope: Scope, protocol: HTTPProtocol) -> Body:
    """Receive a request's body, up to its bound and within BODY_TIMEOUT.

    The rest of a longer body is discarded, so that the connection can be reused. A much longer
    body stays unread, and the connection is closed.

    The server ends a chunked body with an empty part. It yields one more empty part before that if
    the client disconnected or sent an unreadable chunk (or trailers, which no client of ours
    needs).
    """
    declared = scope.headers.get("content-length")
    body, bound = Body(int(declared or 0)), bound_of(scope.path)
    if declared is None and "transfer-encoding" not in scope.headers:
        return body
    received, most, empty = 0, bound + DISCARDED, 0
    try:
        async with asyncio.timeout(settings.BODY_TIMEOUT):
            if body.length <= most:
                async for part in protocol:
                    received += len(part)
                    empty += not part
                    if received <= bound:
                        body.add(part)
                    elif received > most:
                        break
    except TimeoutError:
        seconds = f"{settings.BODY_TIMEOUT:g}"
        body.refuse(InvalidRequest.at([], f"Not received within {seconds} seconds"))
    except Unavailable as refusal:
        body.refuse(refusal)
    else:
        if received < body.length <= most:
            body.refuse(InvalidRequest.at([], "Ended before its declared length"))
        elif "transfer-encoding" in scope.headers and empty > 1:
            body.refuse(InvalidRequest.at([], "Expected complete chunks without trailers"))
    body.length = max(body.length, received)
    body.complete = body.complete and body.length <= most
    return body


def headers_of(scope: Scope) -> dict[str, str]:
    """Return a request's headers under their WSGI names.

    Names with an underscore are left out, because they would pass for the same name with a dash.
    """
    headers: Any = scope.headers
    written = {
        f"HTTP_{name.upper().replace('-', '_')}": (";" if name == "cookie" else ",").join(
            headers.get_all(name)
        )
        for name in headers.keys()  # noqa: SIM118 - not a dict
        if "_" not in name
    }
    written.pop("HTTP_CONTENT_LENGTH", None)
    written["CONTENT_TYPE"] = written.pop("HTTP_CONTENT_TYPE", "")
    if scope.authority and "HTTP_HOST" not in written:
        written["HTTP_HOST"] = scope.authority
    return written


def environ_of(scope: Scope, body: Body) -> "WSGIEnvironment":
    """Build the WSGI environment of a request."""
    host, _, port = scope.server.rpartition(":")
    return {
        **headers_of(scope),
        "REQUEST_METHOD": scope.method,
        "SCRIPT_NAME": "",
        "PATH_INFO": scope.path.encode().decode("latin-1"),
        "QUERY_STRING": scope.query_string,
        "CONTENT_LENGTH": str(body.length),
        "SERVER_NAME": host.strip("[]"),
        "SERVER_PORT": port,
        "SERVER_PROTOCOL": f"HTTP/{scope.http_version}",
        "REMOTE_ADDR": scope.client.rpartition(":")[0].strip("[]"),
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scope.scheme,
        "wsgi.input": BytesIO(body.kept),
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
        REFUSAL: body.refusal,
    }


def answer(scope: Scope, protocol: HTTPProtocol, body: Body) -> None:
    """Let Django answer a request. Runs in a thread."""
    status, headers = 500, [("Connection", "close")]

    def start_response(line: str, given: list[tuple[str, str]], *_: Any) -> Any:
        nonlocal status, headers
        status = int(line.split(" ", 1)[0])
        headers = given if body.complete else [*given, ("Connection", "close")]

    response = django(environ_of(scope, body), start_response)
    try:
        protocol.response_bytes(status, headers, b"".join(response))
    finally:
        response.close()


async def application(scope: Scope, protocol: HTTPProtocol) -> None:
    """Receive a whole request, then answer it in a thread."""
    body = await receive(scope, protocol)
    try:
        await asyncio.get_running_loop().run_in_executor(threads, answer, scope, protocol, body)
    finally:
        room.taken -= body.charged
