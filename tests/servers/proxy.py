"""A proxy that can make the test server behind it appear to fail."""

import contextlib
import socket
import struct
import threading
import time
from typing import Self

from tests.servers.processes import free_port

SLOWLY = 0.3  # delay of each chunk, in seconds
RESET = struct.pack("ii", 1, 0)  # SO_LINGER value that sends a reset when the socket is closed


class Proxy:
    """Forwards bytes to a port on this machine, and can be told to fail in several ways."""

    def __init__(self, to: int) -> None:
        self.to, self.port = to, free_port()
        self.failure, self.accepted = "", 0
        self.listener: socket.socket | None = None
        self.sockets: set[socket.socket] = set()

    def __enter__(self) -> Self:
        self.recover()
        return self

    def __exit__(self, *_: object) -> None:
        if self.failure != "refused":
            self.fail("refused")

    def recover(self) -> None:
        listens = self.listener and self.failure != "refused"
        self.failure = ""
        if listens:
            return
        self.listener = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self.accept, args=(self.listener,), daemon=True).start()

    def fail(self, failure: str) -> None:
        """Fail in the given way until recover() is called.

        `refused` closes the port and all connections. `cut` closes all connections, and closes new
        ones right after accepting them. `slow` delays each chunk.
        """
        self.failure = failure
        if failure == "refused" and self.listener:  # a shutdown wakes the thread in accept()
            self.listener.shutdown(socket.SHUT_RDWR)
            self.listener.close()
        if failure in ("refused", "cut"):
            for one in list(self.sockets):
                self.end(one)

    def accept(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = listener.accept()
                self.accepted += 1
                if self.failure == "cut":
                    client.close()
                    continue
                server = socket.create_connection(("127.0.0.1", self.to))
                for source, sink in ((client, server), (server, client)):
                    self.sockets.add(source)
                    threading.Thread(target=self.pump, args=(source, sink), daemon=True).start()

    def pump(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while part := source.recv(65_536):
                time.sleep(SLOWLY if self.failure == "slow" else 0)
                sink.sendall(part)
        for one in (source, sink):
            self.end(one)

    def end(self, one: socket.socket) -> None:
        self.sockets.discard(one)
        with contextlib.suppress(OSError):
            one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            one.shutdown(socket.SHUT_RDWR)
            one.close()
