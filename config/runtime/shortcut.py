"""Let requests that do not need granian's event loop bypass it."""

from collections.abc import Callable
from typing import Any

import granian._futures as futures

Watcher = Any  # granian's object with a request's scope and protocol; it lacks type hints


def before_event_loop(take: Callable[[Watcher], bool]) -> None:
    """Call `take` with each request before granian passes the request to the event loop.

    `take` runs on the thread that takes requests from the network. It returns True if it has
    answered the request or will answer it. Otherwise, granian passes the request to the event
    loop's thread. Waking that thread and running a task there costs about a quarter of the CPU time
    of a short request. Call this function while granian loads the application.
    """
    to_event_loop: Any = futures._cbsched_aioschedule

    def schedule(loop: Any, context: Any, call: Any) -> Callable[[Watcher], None]:
        pass_on = to_event_loop(loop, context, call)

        def pass_on_unless_taken(watcher: Watcher) -> None:
            # Granian does not expect an error here. If an error escaped, this process would answer
            # neither this request nor any later one.
            try:
                if not take(watcher):
                    pass_on(watcher)
            except BaseException as error:
                watcher.err(error)  # logs the error and responds with a 500

        return pass_on_unless_taken

    futures._cbsched_aioschedule = schedule
