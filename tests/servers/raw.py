"""Write HTTP requests as raw bytes, so that a test can also send a request in parts."""

import socket
from typing import Protocol

from tests.conftest import Api


class Server(Protocol):
    """Anything that listens on a port of this machine."""

    port: int


class Raw:
    """A connection that a test uses to send raw requests and read responses."""

    def __init__(self, web: Server, *, source: str = "127.0.0.1") -> None:
        server = "127.0.0.1", web.port
        self.socket = socket.create_connection(server, timeout=60, source_address=(source, 0))
        self.file = self.socket.makefile("rb")

    def __enter__(self) -> "Raw":
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()
        self.socket.close()

    def send(self, line: str, *headers: str, body: bytes = b"") -> None:
        head = "\r\n".join([f"{line} HTTP/1.1", "Host: localhost", *headers, "", ""])
        self.socket.sendall(head.encode() + body)

    def response(self) -> tuple[int, dict[str, str], bytes]:
        status = int(self.file.readline().split()[1])
        headers = {}
        while line := self.file.readline().strip():
            name, _, value = line.decode().partition(": ")
            headers[name.lower()] = value
        return status, headers, self.file.read(int(headers.get("content-length", 0)))


def as_json(api: Api) -> tuple[str, str]:
    return f"Authorization: Bearer {api.key}", "Content-Type: application/json"
