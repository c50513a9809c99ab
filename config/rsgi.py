"""The web server's entry point. The event loop receives bodies, and threads handle requests.

If a thread read a body itself, it would have to wait for the client to send the whole body. Here,
only the event loop waits, so a slow client holds a connection and some memory, but neither a thread
nor a database connection.

API requests with a small body or no body do not pass through the event loop. The thread that takes
requests from the network answers short requests itself (`config.database.inline`).
"""

import asyncio
import logging
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import BufferedReader, BytesIO
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.core.handlers.wsgi import WSGIRequest
from django.db import connection
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from granian._granian import RSGIProtocolClosed as ProtocolClosed
from granian.rsgi import Scope

from config import metrics
from config.api.body import REFUSAL
from config.api.errors import InvalidRequest
from config.content_type import plain_type
from config.database.connections import release_connection
from config.database.inline import MustWait, inline
from config.database.locks import WEB_LOCK_TIMEOUT, limit_waits
from config.middleware import client_address, counted_as, trusted
from config.runtime.arrivals import Arrivals
from config.runtime.bodies import ENDED, LATE, SMALL, Body, has_body, receive
from config.runtime.shortcut import Watcher, before_event_loop
from config.runtime.stalled_clients import limit_stalls
from config.runtime.thread_pool import ThreadPool
from config.wsgi import application as django

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

HTTPProtocol = Any  # granian's RSGIHTTPProtocol


logger = logging.getLogger(__name__)
limit_waits(WEB_LOCK_TIMEOUT)
metrics.watch_pool()
metrics.WEB_THREADS.set(settings.WEB_THREADS)
threads = ThreadPool(settings.WEB_THREADS, thread_name_prefix="web")
# API requests with these methods are answered on the thread that takes requests. POST is not among
# them, because a POST may wait for a model.
READS, WRITES = {"GET", "HEAD"}, {"PUT", "PATCH", "DELETE"}
INLINE = READS if settings.DATABASE_URL or settings.REDIS_URL else READS | WRITES


def headers_of(scope: Scope) -> dict[str, str]:
    """Return a request's headers under their WSGI names.

    Names with an underscore are left out, because WSGI cannot tell underscores from dashes.
    """
    headers: Any = scope.headers  # Any: granian's type hints lack get_all
    written = {
        f"HTTP_{name.upper().replace('-', '_')}": (";" if name == "cookie" else ",").join(
            headers.get_all(name)
        )
        for name in headers.keys()  # noqa: SIM118 - not a dict
        if "_" not in name
    }
    written.pop("HTTP_CONTENT_LENGTH", None)
    written["CONTENT_TYPE"] = plain_type(written.pop("HTTP_CONTENT_TYPE", ""))
    if scope.authority and "HTTP_HOST" not in written:
        written["HTTP_HOST"] = scope.authority
    return written


def peer_of(scope: Scope) -> str:
    """Return the address at the other end of a request's connection."""
    return scope.client.rpartition(":")[0].strip("[]")


def counted_address(scope: Scope) -> str:
    """Return the key under which a client's pending bodies are counted."""
    peer = peer_of(scope)
    if not trusted(peer):
        return counted_as(peer)
    request = HttpRequest()
    request.META = {**headers_of(scope), "REMOTE_ADDR": peer}
    return counted_as(client_address(request))


def environ_of(scope: Scope, body: Body) -> "WSGIEnvironment":
    """Build a request's WSGI environment."""
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
        "REMOTE_ADDR": peer_of(scope),
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scope.scheme,
        "wsgi.input": BytesIO(body.kept),
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
        REFUSAL: body.refusal,
    }


@dataclass
class Stream:
    """A response of unknown length that has yet to be sent."""

    headers: list[tuple[str, str]]
    response: HttpResponseBase

    def next_piece(self, pieces: Iterator[bytes]) -> bytes | None:
        """Return the next piece, or None at the end. Each call may run in a different thread."""
        try:
            return next(pieces, None)
        finally:
            release_connection()


def path_of(response: HttpResponseBase) -> str:
    """Return the path of the static file that a response consists of, or "" if there is none.

    Granian reads a file only as fast as the client accepts it. It keeps all other data in memory.
    """
    file = getattr(response, "file_to_stream", None)
    return file.name if isinstance(file, BufferedReader) else ""


def answer(scope: Scope, protocol: HTTPProtocol, body: Body) -> Stream | None:
    """Handle a request with Django. Sends the response, or returns it if it must be streamed."""
    response = django.get_response(WSGIRequest(environ_of(scope, body)))
    headers = [*response.items()]
    headers += [("Set-Cookie", cookie.OutputString()) for cookie in response.cookies.values()]
    if not body.complete:
        headers.append(("Connection", "close"))
    if response.streaming and not response.has_header("Content-Length"):
        return Stream(headers, response)
    try:
        if path := path_of(response):
            protocol.response_file(response.status_code, headers, path)
        else:
            protocol.response_bytes(response.status_code, headers, b"".join(response))
    finally:
        # An API response has nothing to release except the database connection. Calling close()
        # would also send Django's request_finished signal.
        if scope.path.startswith("/api/"):
            connection.close_if_unusable_or_obsolete()
        else:
            response.close()
    return None


def answer_inline(scope: Scope, protocol: HTTPProtocol, body: Body) -> Stream | None:
    """Run `answer` on the thread that takes requests. Raises MustWait if it would have to wait."""
    began = inline.begin()
    connection.use_inline()  # type: ignore[attr-defined]  # a method of our wrappers
    try:
        return answer(scope, protocol, body)
    finally:
        inline.note(time.monotonic() - began)


def answer_elsewhere(*_: Any) -> None:
    """Leave a request to another thread. Raises MustWait."""
    raise MustWait


async def send(protocol: HTTPProtocol, stream: Stream) -> None:
    """Send a response piece by piece, until it ends or the client disconnects.

    A thread produces each piece. Granian takes the piece immediately and keeps it until the client
    reads it, so a slow client holds memory, but neither a thread nor a database connection.
    """
    run = asyncio.get_running_loop().run_in_executor
    transport = protocol.response_stream(stream.response.status_code, stream.headers)
    pieces: Iterator[bytes] = iter(stream.response)
    try:
        while (piece := await run(threads, stream.next_piece, pieces)) is not None:
            await transport.send_bytes(piece)
    except ProtocolClosed:
        logger.info("a client disconnected before the end of a response")
    finally:
        await run(threads, stream.response.close)


def take(watcher: Watcher) -> bool:
    """Answer an API request that has a small body or no body. Returns False for other requests."""
    scope = watcher.scope
    if not scope.path.startswith("/api/"):
        return False
    if not has_body(scope):
        begin(watcher, Body(0))
        return True
    declared = scope.headers.get("content-length")
    if declared is None or int(declared) > SMALL:
        return False
    arrivals.expect(watcher)
    return True


def arrived(watcher: Watcher, received: bytes | None) -> None:
    """Answer a request that declares a small body.

    `received` is the body, or None if it did not arrive in time.
    """
    body = Body(int(watcher.scope.headers.get("content-length")))
    if received is None:
        body.refuse(InvalidRequest.at([], LATE))
    elif len(received) < body.length:
        body.refuse(InvalidRequest.at([], ENDED))
    else:
        body.kept += received
    begin(watcher, body)


def begin(watcher: Watcher, body: Body) -> None:
    """Answer a short request in this thread, and any other request in another thread."""
    metrics.IN_PROGRESS.inc()
    # Late bodies are refused on the event loop's thread, where Django forbids database access.
    is_short = watcher.scope.method in INLINE and not body.refusal
    finish(answer_inline if is_short else answer_elsewhere, watcher, body)


def finish(handle: Callable[..., Any], watcher: Watcher, body: Body) -> None:
    """Answer a request with `handle`. If it raises MustWait, another thread starts over.

    API responses have a known length, so `handle` never returns a Stream here.
    """
    try:
        try:
            handle(watcher.scope, watcher.proto, body)
        except MustWait:
            threads.submit(finish, answer, watcher, body)
            return
    except BaseException as error:
        watcher.err(error)  # logs the error and responds with a 500
    metrics.IN_PROGRESS.dec()


arrivals = Arrivals(arrived, timeout=settings.BODY_TIMEOUT)
before_event_loop(take)


async def application(scope: Scope, protocol: HTTPProtocol) -> None:
    """Receive a whole request, and answer it in another thread."""
    address = counted_address(scope) if has_body(scope) else ""
    body = await receive(scope, protocol, address)
    metrics.IN_PROGRESS.inc()
    try:
        run = asyncio.get_running_loop().run_in_executor
        stream = await run(threads, answer, scope, protocol, body)
    finally:
        metrics.IN_PROGRESS.dec()
        body.release()
    if stream:
        await send(protocol, stream)


def start(loop: asyncio.AbstractEventLoop) -> None:
    """Schedule `limit_stalls`. Granian starts to listen before it runs the event loop."""
    loop.call_soon(limit_stalls)


application.__rsgi_init__ = start  # type: ignore[attr-defined]  # where granian looks for it
