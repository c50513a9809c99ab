"""Write together what comes together: one transaction for all who wait, not one for each.

A commit waits for the disk; whoever comes meanwhile joins the next one.
"""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar, cast

from django.db import DataError, IntegrityError

# Seconds to wait for more, for each that kept the last one company, up to the second figure.
GATHER, GATHER_MOST = 0.002, 0.01

Item = TypeVar("Item")
Answer = TypeVar("Answer")


class _Lead(Generic[Answer]):
    """Told to a thread in the place of its answer: it writes now, and finds its answer here."""

    def __init__(self, answer: "Future[Answer | _Lead[Answer]]") -> None:
        self.answer = answer


class Batch(Generic[Item, Answer]):
    """Calls of one function from many threads, made a few at a time with all that wait.

    One thread writes for all and passes the lead to one of those that came meanwhile; nobody else
    is woken before his answer is there.
    """

    def __init__(self, write: Callable[[list[Item]], list[Answer]]) -> None:
        self.write = write
        self.waiting: list[tuple[Item, Future[Answer | _Lead[Answer]]]] = []
        self.guard = threading.Lock()
        self.led = False
        self.company = 0

    def __call__(self, item: Item) -> Answer:
        """Return the answer to one item, or raise what its writing raised."""
        answer: Future[Answer | _Lead[Answer]] = Future()
        with self.guard:
            self.waiting.append((item, answer))
            leads, self.led = not self.led, True
        if not leads:
            told = answer.result()
            if not isinstance(told, _Lead):
                return told
            answer = told.answer
        try:
            if self.company:
                time.sleep(min(GATHER_MOST, GATHER * self.company))
            with self.guard:
                batch, self.waiting = self.waiting, []
            self.company = len(batch) - 1
            self._write(batch)
        finally:
            self._pass_on()
        return cast("Answer", answer.result())

    def _pass_on(self) -> None:
        with self.guard:
            self.led = bool(self.waiting)
            if self.waiting:
                item, theirs = self.waiting[0]
                lead: _Lead[Answer] = _Lead(Future())
                self.waiting[0] = (item, lead.answer)
                theirs.set_result(lead)

    def _write(self, batch: list[tuple[Item, Future[Answer | _Lead[Answer]]]]) -> None:
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
