"""One queue for all writers of the embedded database, in every thread and process.

Without the queue, writers would poll SQLite's own lock at intervals, in no particular order. With
fifty concurrent writers, the database would often be idle while all of them slept, and a process
that wrote without pausing would starve the other processes.
"""

import fcntl
import os
import threading
import time
from pathlib import Path

from django.db import OperationalError

# The positions of two bytes in the lock file. The process that is writing locks WRITER, and the
# process that will write next locks NEXT.
NEXT, WRITER = 0, 1
LOOKS = (0.0002, 0.002)  # seconds between checks of a lock: before and after OFTEN has passed
OFTEN = 0.02  # seconds of waiting after which a lock is checked less often


class WriteQueue:
    """Lets one writer through at a time.

    Each process has a lock that its threads wait for. The thread that gets this lock then waits for
    the other processes. It keeps the lock file's byte NEXT locked while it waits to lock WRITER, so
    that the process that wrote last cannot overtake it. If there is only one other process, the
    thread waits for at most one of that process's writes.

    The queue affects only the order of writes. SQLite's own lock keeps the data correct. If the
    lock file cannot be opened, the queue orders only the threads within each process.
    """

    def __init__(self) -> None:
        self.threads = threading.Lock()
        self.file: int | None = None  # the descriptor of the lock file

    def acquire(self, database: str, timeout: float) -> None:
        """Wait for this thread's turn to write. Raises OperationalError after `timeout` seconds."""
        ends = time.monotonic() + timeout
        if not self.threads.acquire(timeout=timeout):
            raise OperationalError("database is locked")
        try:
            if (file := self._lock_file(database)) is not None:
                _lock(file, NEXT, ends)
                try:
                    _lock(file, WRITER, ends)
                finally:
                    fcntl.lockf(file, fcntl.LOCK_UN, 1, NEXT)
        except BaseException:
            self.threads.release()
            raise

    def release(self) -> None:
        """Let the next writer through."""
        try:
            if self.file is not None:
                fcntl.lockf(self.file, fcntl.LOCK_UN, 1, WRITER)
        finally:
            self.threads.release()

    def _lock_file(self, database: str) -> int | None:
        # Open the file once, because closing any descriptor of it releases this process's locks.
        if self.file is None and Path(database).is_file():
            try:
                self.file = os.open(f"{database}.queue", os.O_RDWR | os.O_CREAT, 0o600)
            except OSError:  # the disk is full or read-only, or no descriptor is free
                return None
        return self.file


def _lock(file: int, byte: int, ends: float) -> None:
    # Poll, because a blocking call has no timeout and the lock's holder may be suspended.
    began = time.monotonic()
    while True:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)
            return
        except (BlockingIOError, PermissionError):
            now = time.monotonic()
            if now >= ends:
                raise OperationalError("database is locked") from None
            time.sleep(LOOKS[now - began > OFTEN])
