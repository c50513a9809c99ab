"""Close the connections of clients that do not read their responses."""

import fcntl
import os
import socket
import stat
import struct
import sys
import termios
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from django.conf import settings

LOOK = 2.0  # seconds without progress after which a stopping process closes a connection
# The offset of tcpi_bytes_acked in Linux's struct tcp_info, and the number of bytes to read
BYTES_ACKED, TCP_INFO_SIZE = 120, 128


def web_sockets() -> Iterator[socket.socket]:
    """Yield this process's listening and client sockets on PORT (Linux only).

    Each socket is a duplicate, so it remains valid if the original is closed in the meantime.
    """
    if sys.platform != "linux":
        return
    for number in (int(entry.name) for entry in Path("/proc/self/fd").iterdir()):
        try:
            copy = os.dup(number)
        except OSError:  # closed in the meantime
            continue
        if not stat.S_ISSOCK(os.fstat(copy).st_mode):
            os.close(copy)
            continue
        with socket.socket(fileno=copy) as found:
            is_web = found.family in (socket.AF_INET, socket.AF_INET6)
            if is_web and found.getsockname()[1] == settings.PORT:
                yield found


def limit_stalls() -> None:
    """Let the kernel close a connection if its client accepts nothing for STALL_TIMEOUT.

    Accepted connections inherit this option from the listening socket.
    """
    for found in web_sockets():
        milliseconds = int(settings.STALL_TIMEOUT * 1000)
        found.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, milliseconds)


def progress_of(client: socket.socket) -> tuple[object, int] | None:
    """Return a client's address and the number of bytes it has accepted.

    Returns None if the client has accepted all bytes. Raises OSError if the socket is not
    connected.
    """
    [unsent] = struct.unpack("i", fcntl.ioctl(client, termios.TIOCOUTQ, bytes(4)))
    known = client.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, TCP_INFO_SIZE)
    [accepted] = struct.unpack_from("Q", known, BYTES_ACKED)
    return (client.getpeername(), accepted) if unsent else None


def close_stalled() -> None:
    """Keep closing connections whose clients accept nothing for LOOK seconds."""
    before: set[tuple[object, int]] = set()
    while True:
        now = set()
        with suppress(OSError):  # too many files are open
            for client in web_sockets():
                with suppress(OSError):  # a listening socket, or the client has disconnected
                    if progress := progress_of(client):
                        now.add(progress)
                        if progress in before:
                            client.shutdown(socket.SHUT_RDWR)
        before = now
        time.sleep(LOOK)


def begin_stop() -> None:
    """Start closing stalled connections, because granian waits for them before it stops."""
    with suppress(RuntimeError):  # no thread can be started: granian waits until its kill timeout
        threading.Thread(target=close_stalled, name="stalled-clients", daemon=True).start()
