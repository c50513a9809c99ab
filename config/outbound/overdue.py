"""Cut off network steps that ignore their timeout.

Under TLS, a socket's timeout is not enough. OpenSSL reads one record after another until a record
contains data, and Python applies the timeout only when OpenSSL has to wait. A peer that sends a
flood of other records, such as session tickets, could keep a thread and a CPU busy forever. A
watching thread therefore ends the connection of a step that runs past its deadline.
"""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

GRACE = 0.25  # seconds by which a step may exceed its deadline before it is cut off
LOOK = 0.25  # seconds between searches for overdue steps
PIECE_BYTES = 256 * 1024  # received bytes are discarded in pieces of this size


class Steps:
    """The steps that are under way in all threads. A socket is in at most one step at a time.

    The watching thread runs only while there are steps.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.ends: dict[socket.socket, float] = {}  # when to cut off each step (monotonic clock)
        self.watcher: threading.Thread | None = None

    @contextmanager
    def watched(self, sock: socket.socket, seconds: float) -> Iterator[None]:
        """Cut off the connection and raise TimeoutError if the block takes `seconds` plus GRACE."""
        with self.lock:
            self.ends[sock] = time.monotonic() + seconds + GRACE
            # The thread may have ended unnoticed, after a fork or because memory ran out.
            if self.watcher is None or not self.watcher.is_alive():
                self._start_watch()
        try:
            yield
        finally:
            with self.lock:
                overdue = self.ends.pop(sock, None) is None
            if overdue:
                raise TimeoutError

    def _start_watch(self) -> None:
        watcher = threading.Thread(target=self._watch, name="overdue", daemon=True)
        with suppress(RuntimeError):  # no thread can be started now; the next step tries again
            watcher.start()
            self.watcher = watcher

    def _watch(self) -> None:
        watching = True
        while watching:
            time.sleep(LOOK)
            # No step can end while this thread holds the lock, so the sockets in `ends` stay open.
            # Otherwise, the descriptor of a closed socket could belong to another connection.
            with self.lock:
                now = time.monotonic()
                for sock in [sock for sock, end in self.ends.items() if end < now]:
                    del self.ends[sock]
                    _cut_off(sock)
                if not self.ends:
                    watching, self.watcher = False, None


def _cut_off(sock: socket.socket) -> None:
    """End a connection that another thread is using, and discard the data it has received.

    If the data were not discarded, OpenSSL would first read all of it, which can take seconds.
    """
    # Call the base class's methods, because those of a TLS socket would change the TLS state, too.
    with suppress(OSError):  # the peer has already reset the connection
        socket.socket.shutdown(sock, socket.SHUT_RDWR)
    with suppress(OSError):
        while socket.socket.recv(sock, PIECE_BYTES):
            pass
