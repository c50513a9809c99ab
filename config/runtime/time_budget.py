"""Limit the time that one run of periodic work may take."""

import time
from collections.abc import Callable, Iterable
from typing import Any

from config.database.locks import left_if_locked
from config.stop_signal import worker_is_stopping

ONE_GO = 60.0  # seconds that a run may take; much less than the lease of periodic work


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
