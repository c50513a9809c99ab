"""Small bodies are either received in time or refused."""

import asyncio
import gc
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import pytest

from config.runtime import arrivals
from config.runtime.arrivals import Arrivals, AtOnce

Answer = TypeVar("Answer")


class Request:
    """Stands in for granian's request watcher, and for the future that holds the request body."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop, self.cancelled = loop, False
        self.callback: Callable[[Any], None] | None = None

    def proto(self) -> "Request":
        return self

    def get_loop(self) -> asyncio.AbstractEventLoop:
        return self.loop

    def add_done_callback(self, callback: Callable[[Any], None]) -> None:
        assert isinstance(callback, AtOnce)
        self.callback = callback

    def result(self) -> bytes:
        return b"body"

    def cancel(self) -> None:
        self.cancelled = True


def run(main: Coroutine[Any, Any, Answer]) -> Answer:
    """Run a coroutine in another thread. Playwright may have left an event loop in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, main).result()


@pytest.mark.parametrize("times", [1, 2])
def test_late_bodies_are_refused_even_if_the_watch_for_them_has_ended(
    monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    monkeypatch.setattr(arrivals, "LOOK", 0.01)
    found: list[tuple[Any, bytes | None]] = []
    waiting = Arrivals(lambda watcher, body: found.append((watcher, body)), timeout=0.05)

    async def receive() -> Request:
        request = Request(asyncio.get_running_loop())
        waiting.expect(request)
        await asyncio.sleep(0.2)
        return request

    # The watch ends when its event loop ends.
    late = [run(receive()) for _ in range(times)]
    assert found == [(request, None) for request in late]
    assert all(request.cancelled for request in late)
    for request in late:
        assert request.callback
        request.callback(request)
    assert len(found) == times, "a body that arrives too late is ignored"


def test_a_body_that_arrives_in_time_is_passed_on_once() -> None:
    found: list[tuple[Any, bytes | None]] = []
    waiting = Arrivals(lambda watcher, body: found.append((watcher, body)), timeout=60)

    async def receive() -> Request:
        request = Request(asyncio.get_running_loop())
        waiting.expect(request)
        assert request.callback
        request.callback(request)
        return request

    request = run(receive())
    assert found == [(request, b"body")]
    assert not waiting.pending


class Collected:
    """Garbage whose collection lets other threads run."""

    def __init__(self) -> None:
        self.itself = self

    def __del__(self) -> None:
        time.sleep(0.001)


@pytest.fixture
def busy_collector() -> Iterator[None]:
    """Collect garbage so often that some collections begin while the watch copies its dict."""
    before = gc.get_threshold()
    gc.set_threshold(100, 20, 50)
    yield
    gc.set_threshold(*before)


@pytest.mark.usefixtures("busy_collector")
def test_the_watch_survives_bodies_that_arrive_while_it_looks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(arrivals, "LOOK", 0.001)
    waiting, stopped = Arrivals(lambda *_: None, timeout=60), threading.Event()
    waiting.pending = {number: (None, time.monotonic() + 60) for number in range(5_000)}

    def arrive() -> None:
        while not stopped.is_set():
            waiting.pending[-1] = None, time.monotonic() + 60
            time.sleep(0.0003)
            waiting.pending.pop(-1)
            time.sleep(0.0003)

    async def look() -> None:
        watch = asyncio.create_task(waiting.refuse_late())
        for _ in range(100):
            Collected()
            await asyncio.sleep(0.005)
        assert not watch.done()
        watch.cancel()

    thread = threading.Thread(target=arrive)
    thread.start()
    try:
        run(look())
    finally:
        stopped.set()
        thread.join()
