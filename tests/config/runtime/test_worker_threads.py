"""Errors in a worker's tasks, and the release of claims whose tasks never begin."""

from typing import Any

import pytest
from celery import shared_task
from django.db import OperationalError

from config.runtime.worker_threads import WorkerThreads, carry_out


class Busy:
    """A pool whose threads are all busy."""

    def apply_async(self, target: Any, args: Any) -> None:
        pass


def test_a_locked_row_delays_no_release_of_another_claim() -> None:
    @shared_task(name="wait")
    def wait() -> None: ...

    def fail() -> None:
        raise OperationalError("database is locked")

    threads, released = WorkerThreads(Busy()), list[str]()
    threads.start(wait, release=fail)
    threads.start(wait, release=lambda: released.append("second"))
    threads.release_waiting()
    assert released == ["second"]


def test_an_unexpected_error_in_a_task_is_logged_with_its_name(
    caplog: pytest.LogCaptureFixture,
) -> None:
    @shared_task(name="stumble")
    def stumble(number: str) -> float:
        return 1 / int(number)

    carry_out(stumble, "0")
    assert "stumble failed" in caplog.text
    assert "ZeroDivisionError" in caplog.text
    assert all(record.bounded for record in caplog.records)  # many tasks may fail at the same time
