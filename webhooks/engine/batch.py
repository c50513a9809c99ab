"""Write waiting items together, in a single transaction.

A commit waits for the disk. Items that arrive during that wait share the next commit.
"""

import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

from django.db import DataError, IntegrityError, connection

from config.database.locks import is_lock_timeout

# If the previous batch had n items, the thread waits `GATHER * (n - 1)` seconds for more items, but
# at most `patience` seconds.
GATHER = 0.004

Item = TypeVar("Item")
Answer = TypeVar("Answer")


class Batch(Generic[Item, Answer]):
    """A thread that writes items submitted by many other threads.

    `write` takes a list of items and returns a list with an answer or an error for each item. The
    thread has its own database connection, which it closes when no items are waiting.

    The thread waits up to `patience` seconds for more items, because writing many items costs
    little more than writing one.
    """

    def __init__(
        self, write: Callable[[list[Item]], list[Answer | Exception]], *, patience: float
    ) -> None:
        self.write, self.patience = write, patience
        self.waiting: queue.SimpleQueue[tuple[Item, Future[Answer]]] = queue.SimpleQueue()
        self.start = threading.Lock()
        self.thread: threading.Thread | None = None

    def __call__(self, item: Item) -> Answer:
        """Queue an item and wait until it is written. Returns its answer, or raises its error."""
        answer: Future[Answer] = Future()
        with self.start:
            if self.thread is None:
                thread = threading.Thread(target=self._run, name="batch", daemon=True)
                thread.start()
                self.thread = thread
        self.waiting.put((item, answer))
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
                for one in batch:  # an error in one item must not affect the others
                    self._write([one])
                return
            connection.close()
            for _, answer in batch:  # raised in the threads that wait for these items
                answer.set_exception(error)
        else:
            for (_, answer), known in zip(batch, answers, strict=True):
                if isinstance(known, Exception):
                    answer.set_exception(known)
                else:
                    answer.set_result(known)


def concerns_one_item(error: BaseException) -> bool:
    """Return whether the error is a data error or a lock timeout, which a single item can cause."""
    data = isinstance(error, (DataError, IntegrityError))
    return data or is_lock_timeout(error)
