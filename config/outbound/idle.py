"""Keep idle connections for later requests, with one limit for all hosts together."""

import threading
import time
from collections import OrderedDict
from collections.abc import Iterable
from contextlib import suppress

from urllib3.connection import HTTPConnection

Host = tuple[str, str, int | None]  # scheme, name and port

IDLE_SECONDS = 60.0  # firewalls may silently drop connections that have been idle for longer
LOOK = 5.0  # seconds between searches for connections that have been idle for too long


class IdleConnections:
    """Keeps up to `most` idle connections for all hosts together. Threads may share an instance.

    If there are more, the connection that has been idle the longest is closed. A background thread
    closes connections that have been idle for IDLE_SECONDS. It runs only while there are idle
    connections.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.lock = threading.Lock()
        self.since: OrderedDict[HTTPConnection, tuple[Host, float]] = OrderedDict()  # oldest first
        self.of_host: dict[Host, list[HTTPConnection]] = {}
        self.closed = threading.Event()
        self.watched = False

    def take(self, host: Host) -> HTTPConnection | None:
        """Remove and return the host's most recently used connection, if it has one."""
        with self.lock:
            old = self._remove_old()
            found = self._remove(host, -1) if host in self.of_host else None
        _close(old)
        return found

    def put(self, host: Host, connection: HTTPConnection) -> None:
        """Keep a connection whose response has been read to the end."""
        with self.lock:
            self.since[connection] = host, time.monotonic()
            self.of_host.setdefault(host, []).append(connection)
            surplus = self._remove_old()
            if not self.watched and not self.closed.is_set():
                self._start_watch()
        _close(surplus)

    def close(self) -> None:
        """Close all idle connections, and any that are put back later."""
        self.closed.set()
        with self.lock:
            surplus = self._remove_old()
        _close(surplus)

    def _remove(self, host: Host, place: int) -> HTTPConnection:
        connections = self.of_host[host]
        connection = connections.pop(place)
        if not connections:
            del self.of_host[host]
        del self.since[connection]
        return connection

    def _remove_old(self) -> list[HTTPConnection]:
        """Remove connections that must not be kept, and return them for the caller to close."""
        most = 0 if self.closed.is_set() else self.most
        before, removed = time.monotonic() - IDLE_SECONDS, []
        while self.since:
            host, since = next(iter(self.since.values()))
            if since > before and len(self.since) <= most:
                break
            removed.append(self._remove(host, 0))
        return removed

    def _start_watch(self) -> None:
        with suppress(RuntimeError):  # no thread can be started now; the next `put` tries again
            threading.Thread(target=self._watch, name="idle", daemon=True).start()
            self.watched = True

    def _watch(self) -> None:
        watched = True
        while watched:
            self.closed.wait(LOOK)
            with self.lock:
                old = self._remove_old()
                self.watched = watched = bool(self.since)
            _close(old)


def _close(connections: Iterable[HTTPConnection]) -> None:
    for connection in connections:
        connection.close()
