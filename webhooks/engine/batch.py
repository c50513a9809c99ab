"""Write waiting items together: one transaction for all of them, not one for each.

A commit waits for the disk. Items that arrive in the meantime share the next one.
"""

import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

from django.db import DataError, IntegrityError, connection

from config.database.locks import is_lock_timeout

GATHER = 0.004  # seconds to wait for more items, for each item that shared the last write

Item = TypeVar("Item")
Answer = TypeVar("Answer")


class Batch(Generic[Item, Answer]):
    """One thread that writes the items of many threads.

    `write` takes a list of items and returns one answer for each, in order. It runs in the
    writer's thread and on the writer's database connection, which is given back when no item waits.
    Up to `patience` seconds are spent waiting for more items: a write of many costs little more
    than a write of one.
    """

    def __init__(self, write: Callable[[list[Item]], list[Answer]], *, patience: float) -> None:
        self.write, self.patience = write, patience
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
                time.sleep(min(self.patience, GATHER * together))
            batch += [self.waiting.get() for _ in range(self.waiting.qsize())]
            together = len(batch) - 1
            self._write(batch)
            if self.waiting.empty():
                connection.close()

    def _write(self, batch: list[tuple[Item, Future[Answer]]]) -> None:
        try:
            answers = self.write([item for item, _ in batch])
        except BaseException as error:
            if len(batch) > 1 and concerns_one_item(error):
                for one in batch:  # a fault in one item must not fail or delay the others
                    self._write([one])
                return
            connection.close()
            for _, answer in batch:  # raised in the threads that wait for these items
                answer.set_exception(error)
        else:
            for (_, answer), known in zip(batch, answers, strict=True):
                answer.set_result(known)


def concerns_one_item(error: BaseException) -> bool:
    """Return whether the other items of a batch may succeed: bad data, or a row locked for long."""
    data = isinstance(error, (DataError, IntegrityError))
    return data or is_lock_timeout(error)
