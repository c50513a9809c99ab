"""Define periodic work, and limit the time that one run of it may take."""

import logging
import time
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from functools import wraps
from typing import TYPE_CHECKING, Any
from uuid import UUID

from celery import shared_task
from django.db import Error
from django.utils import timezone

from config.database.availability import unavailable
from config.database.claims import renewal_of
from config.database.locks import left_if_locked
from config.models import PeriodicWork
from config.stop_signal import worker_is_stopping

if TYPE_CHECKING:
    from celery import Task

ONE_GO = 60.0  # seconds that a run may take
AFTER_ERROR = timedelta(minutes=1)  # time from a failed run until the next one

logger = logging.getLogger(__name__)
renewal = renewal_of(PeriodicWork)


def periodic(name: str) -> "Callable[[Callable[[], datetime]], Task[[str], None]]":
    """Turn a function into the Celery task that does the periodic work called `name`.

    The task takes a claim, and does nothing if the claim is no longer valid. The function returns
    when the work is due again, at most a day ahead. If the function raises an error, the work is
    due again after AFTER_ERROR.
    """

    def decorate(work: Callable[[], datetime]) -> "Task[[str], None]":
        @shared_task
        @wraps(work)
        def run(claim: str) -> None:
            try:
                carry_out(claim)
            except Error as error:  # the lease expires, and the work is done again
                if not unavailable(error):
                    raise
                logger.warning("%s failed: %s", name, error)

        def carry_out(claim: str) -> None:
            token = PeriodicWork.objects.confirm(name, UUID(claim))
            if token is None:
                return
            next_due = timezone.now() + AFTER_ERROR
            try:
                with renewal.of((name, token)), left_if_locked(name):
                    next_due = work()
            finally:
                PeriodicWork.objects.finish(name, token, next_due=next_due)

        return run

    return decorate


def begin() -> Callable[[], bool]:
    """Start a run. Returns a function that reports whether the run must end."""
    ends = time.monotonic() + ONE_GO
    return lambda: time.monotonic() > ends or worker_is_stopping()


def run(steps: Iterable[Any]) -> bool:
    """Take one step, then more steps until the run must end or no steps are left.

    A row that another session has locked also ends the run. Returns True if all steps were taken
    before the run had to end.
    """
    must_end = begin()
    with left_if_locked("periodic work"):
        return not any(must_end() for _ in steps)
    return False
