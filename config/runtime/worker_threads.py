"""Run tasks on a worker's threads, and release the claims of tasks that have not begun."""

import logging
from collections.abc import Callable
from functools import partial
from typing import Any

from celery import Task

from config.database.connections import release_connection
from config.database.locks import left_if_locked
from config.metrics import Gauge
from config.outbound.failures import is_shortage

BUSY = Gauge(
    "chatbots_worker_busy_threads",
    "Worker threads that are running a task",
    multiprocess_mode="livesum",
)

logger = logging.getLogger(__name__)


class WorkerThreads:
    """Starts tasks on the threads of a pool. Tasks wait while all threads are busy.

    `pool` is Celery's pool, or any object with the same method `apply_async(target, args)`. When a
    worker stops, Celery's pool discards the waiting tasks.
    """

    def __init__(self, pool: Any) -> None:  # Any: Celery's pool
        self.pool = pool
        # Maps each task that has not begun to the function that releases its claim
        self.waiting: dict[Callable[[], None], Callable[[], object]] = {}

    # Any: a task may take any arguments
    def start(
        self, task: "Task[Any, Any]", *args: str, release: Callable[[], object] = lambda: None
    ) -> None:
        """Run a task as soon as a thread is free.

        `release` is called instead if the worker stops first. It releases the task's claim.
        """
        run = partial(carry_out, task, *args)
        self.waiting[run] = release
        try:
            self.pool.apply_async(self.begin, (run,))
        except RuntimeError as error:  # the task stays queued until a thread is free
            if not is_shortage(error):
                raise
            logger.warning("no thread could be started: %s", error, extra={"bounded": True})

    def begin(self, run: Callable[[], None]) -> None:
        """Run a task in this thread, unless its claim has been released."""
        if self.waiting.pop(run, None):
            run()

    def release_waiting(self) -> None:
        """Release the claims of the tasks that have not begun. These tasks will not run."""
        for run in list(self.waiting):
            if release := self.waiting.pop(run, None):  # otherwise, the task has just begun
                with left_if_locked("the release of a claim"):
                    release()


def carry_out(task: "Task[Any, Any]", *args: str) -> None:
    """Run a task in this thread, then release the thread's database connection.

    Logs a locked row or an unexpected error, and lets the task's claim expire.
    """
    BUSY.inc()
    try:
        with left_if_locked(task.name):
            task(*args)
    except Exception:  # Celery's pool would discard the error
        logger.exception("%s failed", task.name, extra={"bounded": True})
    finally:
        BUSY.dec()
        release_connection()
