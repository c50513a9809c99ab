"""The step that starts and stops a worker's scheduler together with Celery's worker."""

import gc
import logging
from typing import IO, Any

from celery.bootsteps import StartStopStep
from celery.signals import task_postrun, task_prerun
from django.conf import settings
from django.db import Error

from config.database.connections import configure_sessions
from config.database.locks import WORKER_LOCK_TIMEOUT
from config.metrics import Gauge, serve, watch_pool
from config.models import PeriodicWork
from conversations.processes import locked, raise_file_limit
from conversations.scheduler import PERIODIC, Scheduler
from webhooks.engine.metrics import BUSY

THREADS = Gauge("chatbots_worker_threads", "Worker threads", multiprocess_mode="livesum")

logger = logging.getLogger(__name__)


class SchedulerStep(StartStopStep):
    """Starts and stops the scheduler with Celery's worker."""

    requires = ("celery.worker.components:Pool",)

    def __init__(self, worker: Any, **options: Any) -> None:  # Any: Celery's worker
        super().__init__(worker, **options)
        self.scheduler: Scheduler | None = None
        self.lock: IO[str] | None = None

    def start(self, worker: Any) -> None:
        """Start the scheduler. Logs the reason and raises SystemExit if it cannot run."""
        raise_file_limit()  # each delivery attempt needs one or two file descriptors
        self.take_lock()
        # A plan cached while a table is small would still scan the whole table after it has grown.
        configure_sessions(lock_timeout=WORKER_LOCK_TIMEOUT, plan_cache_mode="force_custom_plan")
        if not settings.SENDING:
            logger.warning("SENDING=off: webhook deliveries and emails are held")
        self.show_metrics(worker.concurrency)
        try:
            PeriodicWork.objects.add(PERIODIC)
        except Error as error:
            logger.critical("the worker cannot start: %s", error)
            raise SystemExit(1) from None
        gc.collect()
        gc.freeze()  # otherwise, scanning the startup objects would pause all threads for 0.1 s
        name, threads = worker.hostname, worker.concurrency
        self.scheduler = Scheduler(worker.app, name=name, threads=threads)
        self.scheduler.start()
        logger.info("the worker is ready, with %d threads", threads)

    def take_lock(self) -> None:
        """Hold the lock of a machine-bound installation's only worker, or raise SystemExit."""
        if not settings.MACHINE_BOUND:
            return
        try:
            self.lock = locked(settings.STATE_DIR / "worker.lock")
        except BlockingIOError:
            logger.critical(
                "the worker cannot start: another worker is already using %s: stop it first, or "
                "set DATABASE_URL and REDIS_URL to allow several workers",
                settings.STATE_DIR,
            )
            raise SystemExit(1) from None

    def show_metrics(self, concurrency: int) -> None:
        """Serve the metrics on METRICS_PORT, if it is set. Raises SystemExit if that fails."""
        THREADS.set(concurrency)
        task_prerun.connect(count_begun, weak=False)
        task_postrun.connect(count_ended, weak=False)
        watch_pool()
        if settings.METRICS_PORT is None:
            return
        try:
            serve(settings.HOST, settings.METRICS_PORT)
        except OSError as error:
            address = f"{settings.HOST}:{settings.METRICS_PORT}"
            logger.critical("cannot listen on %s (METRICS_PORT): %s", address, error.strerror)
            raise SystemExit(1) from None

    def close(self, worker: Any) -> None:
        """Stop claiming. The pool waits for running tasks."""
        if self.scheduler:
            logger.info("the worker will stop as soon as its running tasks have finished")
            self.scheduler.stopping.set()

    def stop(self, worker: Any) -> None:
        """Stop the scheduler and release its claims."""
        if self.scheduler:
            self.scheduler.stop()

    def terminate(self, worker: Any) -> None:
        """Stop the scheduler and release its claims when the worker is forced to shut down."""
        self.stop(worker)


def count_begun(**_: object) -> None:
    """Count a task that begins."""
    BUSY.inc()


def count_ended(**_: object) -> None:
    """Count a task that has ended."""
    BUSY.dec()
