"""Receive small request bodies without running a task in the event loop.

A task would wake the event loop's thread three times: when the request begins, when its body has
arrived, and when it has been answered.
"""

import asyncio
import time
from asyncio import run_coroutine_threadsafe
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

from granian._granian import RSGIProtocolClosed as ProtocolClosed

from config.runtime.shortcut import Watcher
from config.runtime.stalled_clients import begin_stop

LOOK = 1.0  # seconds between checks for late bodies


class AtOnce:
    """A callback that needs neither the event loop nor its thread."""

    def __init__(self, callback: Callable[[Any], None]) -> None:
        self.callback = callback

    def __call__(self, future: Any) -> None:
        self.callback(future)


class Loop(asyncio.SelectorEventLoop):
    """An event loop that runs an AtOnce callback immediately, in the thread that schedules it."""

    # Any: the stubs require a Handle, but a callback that has already run does not need one
    def call_soon_threadsafe(  # type: ignore[override]
        self, callback: Any, *args: Any, context: Any = None
    ) -> Any:
        """Run an AtOnce callback immediately, and any other callback in the event loop's thread."""
        if isinstance(callback, AtOnce):
            return callback(*args)
        return super().call_soon_threadsafe(callback, *args, context=context)

    # Any: the stubs derive the types of the arguments from the callback's type
    def add_signal_handler(  # type: ignore[override]
        self, sig: int, callback: Any, *args: Any
    ) -> None:
        """Handle a signal. Granian adds handlers only for signals that stop the process."""

        def stop() -> None:
            callback(*args)
            begin_stop()

        super().add_signal_handler(sig, stop)


def new_loop() -> Loop:
    """Create the event loop of a web process."""
    loop = Loop()
    asyncio.set_event_loop(loop)
    return loop


class Arrivals:
    """Receives small bodies, and waits at most `timeout` plus LOOK seconds for each.

    Calls `arrived` with a request and its body. The body is shorter than declared if the client has
    disconnected, and None if it did not arrive in time.
    """

    def __init__(self, arrived: Callable[[Watcher, bytes | None], None], *, timeout: float) -> None:
        self.arrived, self.timeout = arrived, timeout
        # Maps granian's futures to requests and their deadlines (on the monotonic clock). Earlier
        # deadlines come first.
        self.pending: dict[Any, tuple[Watcher, float]] = {}
        self.watch: Future[None] | None = None

    def expect(self, watcher: Watcher) -> None:
        """Begin to receive a request's body. Must be called on the thread that takes requests.

        Granian completes the future on that thread, so it cannot do so before this method returns.
        """
        future = watcher.proto()
        if self.watch is None or self.watch.done():
            self.watch = run_coroutine_threadsafe(self.refuse_late(), future.get_loop())
        self.pending[future] = watcher, time.monotonic() + self.timeout
        future.add_done_callback(AtOnce(self.complete))

    def complete(self, future: Any) -> None:
        """Pass on a body that has arrived, unless it arrived too late."""
        body = b""
        with suppress(ProtocolClosed, asyncio.CancelledError):
            body = future.result()
        self.end(future, body)

    def end(self, future: Any, body: bytes | None) -> None:
        """End the wait for a body if it has not ended yet."""
        watcher, _ = self.pending.pop(future, (None, 0))
        if watcher:
            try:
                self.arrived(watcher, body)
            except BaseException as error:
                watcher.err(error)  # logs the error and responds with a 500

    async def refuse_late(self) -> None:
        """Refuse late bodies, checking for them every LOOK seconds until the process ends."""
        while True:
            await asyncio.sleep(LOOK)
            now = time.monotonic()
            # Unlike list(), copy() does not fail if another thread is changing the dict.
            for future, (_, deadline) in self.pending.copy().items():
                if deadline > now:
                    break
                self.end(future, None)
                future.cancel()
