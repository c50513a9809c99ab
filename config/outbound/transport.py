"""Send HTTP requests for webhooks and model clients, each within a total deadline.

`Adapter` prevents DNS rebinding, which can lead to server-side request forgery: before every
request, it checks all addresses that the host's name resolves to, and it connects only to one of
them. The Host header, the TLS server name and the certificate check still use the name.

The adapter is used without a `requests.Session`. Therefore, there are no redirects, cookies,
proxies or credentials from the environment.
"""

import http.client
import io
import logging
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from typing import Any
from urllib.parse import urlsplit

import requests
from requests.adapters import HTTPAdapter
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool, PoolManager
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import NewConnectionError
from urllib3.util.ssltransport import SSLTransport

from config.outbound.deadline import HEAD_BYTES, Address, Addresses, TcpSocket, connect, look_up

Judge = Callable[[Address], None]

HOSTS = 128  # maximum number of hosts with idle connections
# An idle connection is not reused after this many seconds. Many servers close an idle connection
# after 5 s, and a request that crosses with the close would fail.
IDLE_SECONDS = 4.0
BODY_BYTES = 2 * 1024 * 1024  # maximum size of a body, including chunk sizes and trailers
PIECE_BYTES = 16 * 1024

# urllib3's warnings quote whole URLs, and report conditions that are not faults here: partly
# malformed heads, and more concurrent connections than are kept.
logging.getLogger("urllib3").setLevel(logging.ERROR)

# The addresses for this request. Without any, no connection is opened or reused.
_checked: ContextVar[Addresses] = ContextVar("_checked", default=())


class _WholeLines(io.BufferedReader):
    """A file in which a line must be complete.

    Otherwise, http.client would treat the end of the connection as the end of the headers.
    """

    def readline(self, size: int | None = -1, /) -> bytes:
        line = super().readline(size)
        if not line.endswith(b"\n") and len(line) != size:
            raise http.client.RemoteDisconnected("closed partway through the response")
        return line


class _Response(http.client.HTTPResponse):
    """The final response. Interim responses, such as 103, are skipped."""

    fp: Any  # a BufferedReader, or None once the response has been read

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fp = _WholeLines(self.fp.detach())

    def begin(self) -> None:
        """Read the head. Raises HTTPException if the peer switches protocols."""
        super().begin()
        while 100 <= self.status < 200:
            if self.status == http.client.SWITCHING_PROTOCOLS:
                raise http.client.HTTPException("unrequested switch to another protocol")
            self.headers = None  # type: ignore[assignment] # as before the first head
            super().begin()


class _Connection(HTTPConnection):
    """A connection to one of a host's checked addresses."""

    response_class = _Response
    sock: Any  # urllib3 declares a plain socket; ours is a TcpSocket or an SSLTransport
    tcp: TcpSocket
    peer: Address

    def connect(self) -> None:
        """Connect to one of the checked addresses."""
        try:
            self.tcp, self.peer = connect(_checked.get(), self.port)
        except OSError as error:
            # While a request is sent, urllib3 ignores some errors, but not this one.
            raise NewConnectionError(self, str(error)) from error
        self.sock = self.tcp

    @property
    def is_connected(self) -> bool:
        """Whether the connection can be reused: open, to a checked address, and idle only briefly.

        A connection with unread bytes cannot be reused.
        """
        return (
            super().is_connected
            and self.peer in _checked.get()
            and time.monotonic() - self.tcp.heard < IDLE_SECONDS
        )

    def getresponse(self) -> Any:  # Any: urllib3's response
        """Read the head of the response."""
        self.tcp.allow(HEAD_BYTES)
        response = super().getresponse()
        self.tcp.allow(BODY_BYTES)
        return response


class _TlsConnection(_Connection, HTTPSConnection):
    """A TLS connection to one of a host's checked addresses.

    Here, OpenSSL only ever processes bytes that the TcpSocket has received. If it read from the
    connection itself, a flood of records without data could keep it busy beyond the deadline.
    """

    def connect(self) -> None:
        """Connect and complete the TLS handshake. Only the SSL context decides what is trusted."""
        super().connect()
        assert self.ssl_context is not None
        try:
            self.sock = SSLTransport(self.tcp, self.ssl_context, server_hostname=self.host)
        except TimeoutError as error:
            raise TimeoutError("during the TLS handshake") from error
        self.is_verified = True

    @property
    def is_connected(self) -> bool:
        """Whether the connection can be reused. Received bytes may be unread on any level."""
        return (
            super().is_connected
            and not self.sock.incoming.pending
            and not self.sock.sslobj.pending()
        )


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection


class _TlsPool(HTTPSConnectionPool):
    ConnectionCls = _TlsConnection


class Adapter(HTTPAdapter):
    """Sends requests that obey the deadline set by `config.outbound.deadline.within`.

    `judge` is called with every address of the host before each request, and raises
    AddressNotAllowed to refuse one. `ca_bundle` is a path; None means the system's certificates.
    At most `kept` idle connections to each of HOSTS hosts are kept. Requests in progress are not
    limited. Threads may share an adapter.
    """

    def __init__(
        self, *, judge: Judge | None = None, ca_bundle: str | None = None, kept: int = 8
    ) -> None:
        self.judge = judge
        self.context = ssl.create_default_context(cafile=ca_bundle)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_2
        super().__init__(pool_connections=HOSTS, pool_maxsize=kept)

    # Any: the options of the base class
    def init_poolmanager(self, connections: int, maxsize: int, *_: Any, **__: Any) -> None:
        self.poolmanager = PoolManager(connections, maxsize=maxsize, ssl_context=self.context)
        self.poolmanager.pool_classes_by_scheme = {"http": _Pool, "https": _TlsPool}

    def send(self, request: requests.PreparedRequest, *args: Any, **kwargs: Any) -> Any:
        """Look up the host, check every address, and send the request to one of them."""
        addresses = look_up(urlsplit(request.url or "").hostname or "")
        if self.judge is not None:
            for address in addresses:
                self.judge(address)
        token = _checked.set(addresses)
        try:
            return super().send(request, *args, **kwargs)
        finally:
            _checked.reset(token)

    def post(self, url: str, *, body: bytes, headers: Mapping[str, str]) -> requests.Response:
        """Send a POST request. Read the response's body with `pieces`, then close the response.

        Raises one of `config.outbound.failures.FAILURES`.
        """
        request = requests.Request("POST", url, data=body, headers=headers).prepare()
        response: requests.Response = self.send(request, stream=True)
        return response


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
