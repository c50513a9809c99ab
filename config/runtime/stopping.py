"""How long processes may take to stop, and what stops a web server process without a parent."""

import math
import multiprocessing
import os
import signal
import threading
import time

from django.conf import settings

LOOK = 0.25  # seconds between checks that a web server process's parent is alive
STOP_BEYOND = 10.0  # seconds allowed for stopping, beyond the longest network timeout


def grace() -> int:
    """Return how many seconds the web server and the worker may take to finish their work.

    compose.yaml and docs/deployment.md allow a little more time.
    """
    return math.ceil(max(settings.LLM_TIMEOUT, settings.WEBHOOK_TIMEOUT) + STOP_BEYOND)


def end_without_parent() -> None:
    """End this web server process when its parent dies, even if SIGKILL killed the parent.

    Otherwise, the process would keep the port and share it with the next `serve`, and some callers
    would reach the old code.
    """
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch() -> None:
        while os.getppid() == parent.pid:
            time.sleep(LOOK)
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(grace())
        os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=watch, name="parent-watch", daemon=True).start()
