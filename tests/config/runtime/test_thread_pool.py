"""How a thread pool behaves when the system permits no further threads."""

import threading

import pytest

from config.runtime.thread_pool import ThreadPool
from tests.shortages import without_threads


def test_a_task_waits_for_a_running_thread_if_no_further_thread_can_be_started() -> None:
    held = threading.Event()
    with ThreadPool(2) as pool:
        first = pool.submit(held.wait, 30)
        with without_threads():
            second = pool.submit(lambda: "ran")
        assert not second.done()
        held.set()
        assert (first.result(), second.result()) == (True, "ran")


def test_a_task_that_no_thread_can_run_is_refused_and_never_runs() -> None:
    ran: list[str] = []
    with ThreadPool(1) as pool:
        with without_threads(), pytest.raises(RuntimeError):
            pool.submit(ran.append, "refused")
        pool.submit(ran.append, "accepted").result()
    assert ran == ["accepted"]
