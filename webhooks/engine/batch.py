"""Write together what comes together: one transaction for all who wait, not one for each.

A commit waits for the disk; whoever comes meanwhile joins the next one.
"""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

from django.db import DataError, IntegrityError

# Seconds to wait for more, for each that kept the last one company, up to the second figure.
GATHER, GATHER_MOST = 0.003, 0.03

Item = TypeVar("Item")
Answer = TypeVar("Answer")


class Batch(Generic[Item, Answer]):
    """Calls of one function from many threads, made a few at a time with all that wait."""

    def __init__(self, write: Callable[[list[Item]], list[Answer]]) -> None:
        self.write = write
        self.waiting: list[tuple[Item, Future[Answer]]] = []
        self.guard, self.writing = threading.Lock(), threading.Lock()
        self.company = 0

    def __call__(self, item: Item) -> Answer:
        """Return the answer to one item, or raise what its writing raised."""
        answer: Future[Answer] = Future()
        with self.guard:
            self.waiting.append((item, answer))
        with self.writing:
            if not answer.done():  # whoever wrote before us took ours along, if it was there
                if self.company:
                    time.sleep(min(GATHER_MOST, GATHER * self.company))
                with self.guard:
                    batch, self.waiting = self.waiting, []
                self.company = len(batch) - 1
                self._write(batch)
        return answer.result()

    def _write(self, batch: list[tuple[Item, Future[Answer]]]) -> None:
        try:
            answers = self.write([item for item, _ in batch])
        except (DataError, IntegrityError) as error:
            if len(batch) == 1:
                batch[0][1].set_exception(error)
                return
            for one in batch:  # the fault of one is not the others'
                self._write([one])
        except BaseException as error:  # handed to those who wait for it, in their threads
            for _, answer in batch:
                answer.set_exception(error)
        else:
            for (_, answer), known in zip(batch, answers, strict=True):
                answer.set_result(known)
