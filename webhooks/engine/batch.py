"""Write waiting items together: one transaction for all of them, not one for each.

A commit waits for the disk. Items that arrive in the meantime share the next one.
"""

import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

from django.db import DataError, IntegrityError, OperationalError, connection
from psycopg.errors import LockNotAvailable

# Seconds to wait for more items: this much for each item that shared the last write, up to a bound.
GATHER, GATHER_MOST = 0.002, 0.01
LOCK_TIMEOUT = "300ms"  # then the items are written one by one, and only the locked one waits

Item = TypeVar("Item")
Answer = TypeVar("Answer")


class Batch(Generic[Item, Answer]):
    """One thread that writes the items of many threads.

    `write` takes a list of items and returns one answer for each, in order. It runs in the
    writer's thread and on the writer's database connection, which is given back when no item waits.
    """

    def __init__(self, write: Callable[[list[Item]], list[Answer]]) -> None:
        self.write = write
        self.waiting: queue.SimpleQueue[tuple[Item, Future[Answer]]] = queue.SimpleQueue()
        self.start = threading.Lock()
        self.thread: threading.Thread | None = None

    def __call__(self, item: Item) -> Answer:
        """Wait until an item is written and return its answer. Raises the error of the write."""
        answer: Future[Answer] = Future()
        self.waiting.put((item, answer))
        with self.start:
            if self.thread is None:
                self.thread = threading.Thread(target=self._run, name="batch", daemon=True)
                self.thread.start()
        return answer.result()

    def _run(self) -> None:
        together = 0
        while True:
            batch = [self.waiting.get()]
            if together:
                time.sleep(min(GATHER_MOST, GATHER * together))
            batch += [self.waiting.get() for _ in range(self.waiting.qsize())]
            together = len(batch) - 1
            self._write(batch)
            if self.waiting.empty():
                connection.close()

    def _write(self, batch: list[tuple[Item, Future[Answer]]]) -> None:
        try:
            answers = self.write([item for item, _ in batch])
        except (DataError, IntegrityError, OperationalError) as error:
            if len(batch) == 1 or not concerns_one_item(error):
                connection.close()
                for _, answer in batch:
                    answer.set_exception(error)
                return
            for one in batch:  # a fault in one item must not fail or delay the others
                self._write([one])
        except BaseException as error:  # raised in the threads that wait for these items
            connection.close()
            for _, answer in batch:
                answer.set_exception(error)
        else:
            for (_, answer), known in zip(batch, answers, strict=True):
                answer.set_result(known)


def concerns_one_item(error: Exception) -> bool:
    """Return whether the other items of a batch may succeed: bad data, or a row locked for long."""
    data = isinstance(error, (DataError, IntegrityError))
    return data or isinstance(error.__cause__, LockNotAvailable)


def limit_locks() -> None:
    """Give up waiting for a row that is locked elsewhere, in this transaction (PostgreSQL)."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT set_config('lock_timeout', %s, true)", [LOCK_TIMEOUT])
