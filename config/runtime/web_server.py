"""Granian, adapted so that it never misses a signal: `python -m config.runtime.web_server OPTIONS`.

The options are those of granian's own command.
"""

import os
import signal
import threading
from typing import Any

import granian.cli
from granian import loops
from granian.server.mp import MPServer

from config.runtime.arrivals import new_loop
from config.runtime.hangup import UNDER_NOHUP

LOOK = 0.25  # seconds between wake-ups of the main thread


class Interrupt(threading.Event):
    """The event that the main thread waits for. Once `final` is true, the event stays set.

    Python runs signal handlers in the main thread, but the system may deliver a signal to another
    thread, for example after the process was suspended. If the main thread waited without a
    timeout, such a signal would not wake it, and the server would never stop.
    """

    final = False

    def wait(self, timeout: float | None = None) -> bool:
        """Wait like Event, but wake up regularly, so that pending signals are handled."""
        if timeout is not None:
            return super().wait(timeout)
        while not super().wait(LOOK):
            pass
        return True

    def clear(self) -> None:
        """Clear the event unless it is final. Granian may call this right after a signal."""
        if not self.final:
            super().clear()


class WebServer(MPServer):
    """A granian server that obeys a stop signal at any time."""

    main_loop_interrupt: Interrupt

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.main_loop_interrupt = Interrupt()

    def signal_handler_interrupt(self, *args: Any, **options: Any) -> None:
        """Stop, as granian does.

        A web process that is still starting inherits this handler, and exits immediately. With
        granian's own handler, the process would ignore the signal, and the server would wait for
        the process until the kill timeout.
        """
        if os.getpid() != self.pid:
            os._exit(0)
        self.main_loop_interrupt.final = True
        super().signal_handler_interrupt(*args, **options)  # type: ignore[no-untyped-call]

    def signal_handler_reload(self, *args: Any, **options: Any) -> None:
        """Also stop on SIGHUP, unless the server runs under nohup.

        Granian's own handler would restart the web processes, and some requests would fail. A web
        process inherits this handler and ignores the signal, because the server will stop it.
        """
        if os.getpid() == self.pid and not UNDER_NOHUP:
            self.signal_handler_interrupt(*args, **options)


def keep_signals_at_forks() -> None:
    """Make sure that no stop signal is lost while a web process is being forked.

    Python discards signals that arrive before fork() has returned in the new process. If a stop
    signal were discarded, the server would wait for that process until the kill timeout. Stop
    signals are therefore blocked during a fork.
    """
    stops = {signal.SIGINT, signal.SIGTERM}

    def unblock() -> None:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, stops)

    os.register_at_fork(
        before=lambda: signal.pthread_sigmask(signal.SIG_BLOCK, stops),
        after_in_parent=unblock,
        after_in_child=unblock,
    )


if __name__ == "__main__":
    keep_signals_at_forks()
    loops.register("auto")(new_loop)  # "auto" is the loop that granian uses by default
    command: Any = granian.cli  # Any: granian's command is untyped
    command.Server = WebServer
    command.entrypoint()
