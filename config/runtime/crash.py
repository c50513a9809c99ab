"""Points where tests kill the process, between two steps that must take effect together."""

import itertools
import os
import signal

from django.conf import settings

_passed = itertools.count(1)


def crash_point(name: str) -> None:
    """Kill this process if the setting CRASH_POINT is `name`, or `name:n` on the nth pass."""
    wanted, _, times = settings.CRASH_POINT.partition(":")
    if wanted == name and next(_passed) == int(times or 1):
        os.kill(os.getpid(), signal.SIGKILL)
