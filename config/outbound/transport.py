"""Send HTTP requests for webhooks and model clients, each within a total deadline.

A session with a `judge` prevents DNS rebinding, which can lead to server-side request forgery.
Before every request, `judge` checks the addresses that the host's name resolves to, and the session
connects only to one of them. The Host header, the TLS server name and the certificate check still
use the name.
"""

import http.client
import logging
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from http.cookiejar import DefaultCookiePolicy
from typing import Any

import requests
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.poolmanager import PoolManager

from config.outbound.deadline import (
    WAITING,
    Address,
    Addresses,
    TcpSocket,
    TlsSocket,
    connect,
    left,
    look_up,
)
from config.outbound.idle import IdleConnections

Judge = Callable[[Address], None]

KEPT = 1_024  # maximum number of idle connections; two per worker thread by default
HOSTS = 1_024  # maximum number of hosts whose connection settings urllib3 keeps
# If the peer closes a kept connection within this many seconds after a request begins, the
# connection is assumed to have gone stale before the request. (A round trip takes up to 0.3 s.)
AT_ONCE = 0.5
# Maximum total size in bytes of the heads of a response and its interim responses. For comparison,
# Node's HTTP client accepts 16 KiB.
HEAD_BYTES = 32 * 1024
# Maximum total length of a body's chunk-size lines and trailers, in bytes. A chunk-size line is
# usually 3 to 6 bytes long, so this still allows more than 40,000 chunks.
FRAMING_BYTES = 256 * 1024
PIECE_BYTES = 16 * 1024

# urllib3's warnings quote whole URLs, and report conditions that are not faults here: partly
# malformed heads, and more concurrent connections than are kept.
logging.getLogger("urllib3").setLevel(logging.ERROR)


class LastRequest(threading.local):
    """Records whether this thread's last request was sent again.

    The caller resets `repeated` before sending.
    """

    repeated = False  # whether the request was resent because the peer had closed the connection


last_request = LastRequest()


class _Bounded:
    """Wraps a connection's file, and limits the total bytes that `readline` reads from it."""

    # Any: a response's `fp`, or a wrapper around it
    def __init__(self, file: Any, most: int, what: str) -> None:
        self.file, self.most, self.left, self.what = file, most, most, what

    def __getattr__(self, name: str) -> Any:
        """Delegate everything else to the file. This includes `read`, as bodies are not limited."""
        return getattr(self.file, name)

    def readline(self, limit: int) -> bytes:
        line: bytes = self.file.readline(min(limit, self.left + 1))
        self.left -= len(line)
        if self.left < 0:
            raise http.client.HTTPException(f"more than {self.most // 1024} KiB of {self.what}")
        return line


class _Head(_Bounded):
    """The head of a response, and the heads of its interim responses."""

    def readline(self, limit: int) -> bytes:
        line = super().readline(limit)
        if self.left < self.most and not line.endswith(b"\n"):
            # http.client would treat the end of the connection as the end of the head.
            raise http.client.RemoteDisconnected("closed partway through the response head")
        return line

    def read_fields(self) -> bytes:
        """Read the header lines, including the empty line at their end."""
        lines = [b""]
        while lines[-1] not in (b"\r\n", b"\n"):
            lines.append(self.readline(HEAD_BYTES))
        return b"".join(lines)


class _Fields:
    """Header lines presented as a single line, because http.client accepts at most 100 lines."""

    def __init__(self, fields: bytes) -> None:
        self.pending = [fields]

    def readline(self, limit: int) -> bytes:
        return self.pending.pop() if self.pending else b""


class _Answer(http.client.HTTPResponse):
    """The final response. Interim responses (100, 102, 103) are skipped.

    The total size of all heads is limited. In a chunked body, the total length of the chunk-size
    lines and trailers is also limited.
    """

    fp: Any  # typeshed declares a BufferedReader; ours is wrapped

    def begin(self) -> None:
        file, self.fp = self.fp, _Head(self.fp, HEAD_BYTES, "response headers")
        try:
            super().begin()
        finally:
            if self.fp is not None:  # super().begin() closes `fp` if it cannot parse the head
                self.fp = _Bounded(file, FRAMING_BYTES, "chunk sizes and trailers")

    def _read_status(self) -> tuple[str, int, str]:
        """Read the final status line and its headers, skipping interim responses.

        Raises HTTPException if the peer switches protocols.
        """
        while True:
            version, status, text = super()._read_status()  # type: ignore[misc] # no public hook
            if status == http.client.SWITCHING_PROTOCOLS:
                raise http.client.HTTPException("unrequested switch to another protocol")
            left(WAITING)  # checks the deadline, because reading buffered data does not
            fields = self.fp.read_fields()
            if not 100 <= status < 200:
                self.fp = _Fields(fields)
                return version, status, text


class _Connection(HTTPConnection):
    """A connection to one of a host's addresses, reused only while the host keeps that address."""

    response_class = _Answer
    sock: Any  # urllib3 declares a plain socket; ours is a TcpSocket or a TlsSocket
    addresses: Addresses = ()
    peer: Address | None = None
    kept: TcpSocket | TlsSocket | None = None  # the socket, if an earlier request opened it
    began = 0.0

    def aim(self, addresses: Addresses) -> None:
        """Prepare a request to one of these addresses.

        Closes the kept socket if it is connected to any other address.
        """
        self.began = time.monotonic()
        self.addresses = addresses
        if self.sock and self.peer not in addresses:
            self.close()
        self.kept = self.sock

    def went_stale(self) -> bool:
        """Return whether a kept socket was closed soon after the request began, without a response.

        A peer that closes the socket later may have read the request and acted on it.
        """
        ended_at_once = time.monotonic() - self.began < AT_ONCE
        return self.kept is not None and self.kept.heard < self.began and ended_at_once

    def _new_conn(self) -> TcpSocket:
        sock, self.peer = connect(self.addresses, self.port)
        return sock


class _TlsConnection(_Connection, HTTPSConnection):
    """A TLS connection to one of a host's addresses."""

    @property
    def is_connected(self) -> bool:
        """Whether the connection is open and no unread bytes are left from the last response.

        The base class checks the socket, but not the bytes that TLS has already decrypted.
        """
        return super().is_connected and not self.sock.pending()


class _Pool(HTTPConnectionPool):
    """The connections to one host, whose addresses are checked before each request."""

    ConnectionCls = _Connection
    judge: Judge | None = None
    idle: IdleConnections

    # Any: urllib3's types exclude our connections
    def _get_conn(self, timeout: float | None = None) -> Any:
        """Return an idle connection, or a new one."""
        connection = self.idle.take((self.scheme, self.host, self.port))
        if connection is None:
            return self._new_conn()
        if not connection.is_connected:
            connection.close()  # the request opens the connection again
        return connection

    def _put_conn(self, conn: Any) -> None:
        """Keep a connection whose response has been read."""
        if conn and conn.sock:
            self.idle.put((self.scheme, self.host, self.port), conn)

    def _validate_conn(self, conn: Any) -> None:  # Any: urllib3's types exclude our connections
        """Look up the host and check every address. Connects if no kept socket can be reused."""
        addresses = look_up(conn._dns_host)  # unlike `host`, includes any trailing dot
        if self.judge is not None:
            for address in addresses:
                self.judge(address)
        conn.aim(addresses)
        if conn.is_closed:
            conn.connect()  # if urllib3 connected while sending, it would ignore a reset
        super()._validate_conn(conn)

    # Any: a dozen arguments, which are passed on unchanged
    def _make_request(self, conn: Any, *args: Any, **kwargs: Any) -> Any:
        """Send a request, and send it again if the peer had already closed the kept socket."""
        try:
            return super()._make_request(conn, *args, **kwargs)
        except (ConnectionError, ssl.SSLEOFError, ssl.SSLZeroReturnError):
            if not conn.went_stale():
                raise
        conn.close()
        last_request.repeated = True
        return super()._make_request(conn, *args, **kwargs)


class _TlsPool(_Pool, HTTPSConnectionPool):
    """The TLS connections to one host."""

    ConnectionCls = _TlsConnection


class _Pools(PoolManager):
    # Any: the options of the base class
    def __init__(self, *, judge: Judge | None, idle: IdleConnections, **options: Any) -> None:
        super().__init__(**options)
        self.judge, self.idle = judge, idle
        self.pool_classes_by_scheme = {"http": _Pool, "https": _TlsPool}

    def _new_pool(self, *args: Any, **kwargs: Any) -> HTTPConnectionPool:
        pool = super()._new_pool(*args, **kwargs)
        assert isinstance(pool, _Pool)
        pool.judge, pool.idle = self.judge, self.idle
        return pool


class _Adapter(HTTPAdapter):
    def __init__(self, *, judge: Judge | None, context: ssl.SSLContext, kept: int) -> None:
        self.judge, self.context, self.idle = judge, context, IdleConnections(kept)
        super().__init__(pool_connections=HOSTS)

    def init_poolmanager(self, connections: int, *_: Any, **__: Any) -> None:
        self.poolmanager = _Pools(
            judge=self.judge, idle=self.idle, num_pools=connections, ssl_context=self.context
        )

    def close(self) -> None:
        """Close the idle connections."""
        super().close()
        self.idle.close()

    # Only the SSL context decides what is trusted: verification cannot be turned off, and the CA
    # bundle is read only once, not for each connection.
    def build_connection_pool_key_attributes(self, *args: Any, **kwargs: Any) -> Any:
        host, _ = super().build_connection_pool_key_attributes(*args, **kwargs)
        return host, {}

    def cert_verify(self, *args: Any, **kwargs: Any) -> None:
        pass


class _Session(requests.Session):
    def get_redirect_target(self, resp: requests.Response) -> None:
        # Never report a redirect. Otherwise, even with redirects off, the requests library would
        # read the whole body of the redirect.
        return None


def session(
    *,
    judge: Judge | None = None,
    ca_bundle: str | None = None,
    kept: int = KEPT,
) -> requests.Session:
    """Create a session whose requests obey the deadline set by `config.outbound.deadline.within`.

    `judge` is called with every address of the host, and raises AddressNotAllowed to refuse one.
    `ca_bundle` is a path; None means the system's certificates. For each scheme, the session keeps
    at most `kept` idle connections across all hosts. Requests in progress are not limited. The
    session ignores proxy variables and netrc, keeps no cookies and follows no redirects. Send
    requests with `stream=True`, and read the response bodies with `pieces`.
    """
    context = ssl.create_default_context(cafile=ca_bundle)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.sslsocket_class = TlsSocket
    made = _Session()
    made.trust_env = False
    made.headers.clear()
    made.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
    for scheme in ("http://", "https://"):
        made.mount(scheme, _Adapter(judge=judge, context=context, kept=kept))
    return made


def pieces(response: requests.Response, *, most: int) -> Iterator[bytes]:
    """Yield a streamed body as it arrives, without decompressing it, up to `most` bytes in total.

    Raises one of FAILURES.
    """
    while most > 0:
        piece = response.raw.read1(min(most, PIECE_BYTES), decode_content=False)
        if not piece:
            return
        yield piece[:most]  # http.client returns more if a chunk's length is negative
        most -= len(piece)
