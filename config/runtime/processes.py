"""Start the web server and the worker as separate processes, watch them, and stop them together."""

import ctypes
import logging
import math
import multiprocessing
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO
from urllib.error import URLError
from urllib.request import ProxyHandler, build_opener

from django.conf import settings

from config.runtime.state import locked, make_private

LOOK = 0.25  # seconds between checks that a web server process's parent is alive
STOP_BEYOND = 10.0  # seconds allowed for stopping, beyond the longest network timeout
STOPPED_AFTER = 2.0  # additional seconds before the remaining processes are killed
KILL_TIMEOUT_MOST = 1800  # the longest kill timeout that granian accepts, in seconds
PR_SET_PDEATHSIG = 1
# Maximum number of connections per web process. It is high because slow clients keep their
# connections open for a long time, and because a connection occupies neither a thread nor a
# database connection. An idle connection is closed after 30 s.
CONNECTIONS = 8192

logger = logging.getLogger(__name__)


class CannotStart(Exception):
    """Raised if a process cannot start or has exited. The message states the cause or a remedy."""


def grace() -> int:
    """Return how many seconds the web server and the worker may take to finish their work.

    compose.yaml and docs/deployment.md allow a little more time.
    """
    return math.ceil(max(settings.LLM_TIMEOUT, settings.WEBHOOK_TIMEOUT) + STOP_BEYOND)


def web_command() -> list[str]:
    """Return the web server's command line.

    In a machine-bound installation (without PostgreSQL or without Redis), the web server has a
    single process, so that the counters of the rate limits can be kept in its memory.
    """
    workers = 1 if settings.MACHINE_BOUND else settings.WEB_WORKERS or os.cpu_count() or 1
    return [
        sys.executable,
        *("-m", "config.runtime.web_server"),
        *("--interface", "rsgi"),
        *("--http", "1"),
        "--no-ws",
        *("--host", settings.HOST),
        *("--port", str(settings.PORT)),
        *("--workers", str(workers)),
        *("--backlog", str(CONNECTIONS)),
        *("--backpressure", str(CONNECTIONS)),
        *("--log-level", "error"),
        *("--log-config", str(settings.BASE_DIR / "config" / "runtime" / "server_log.json")),
        "--respawn-failed-workers",
        *("--respawn-interval", "0.5"),
        *("--workers-kill-timeout", str(min(grace(), KILL_TIMEOUT_MOST))),
        "config.rsgi:application",
    ]


def worker_command() -> list[str]:
    """Return the worker's command line.

    The worker uses a thread pool, because deliveries spend most of their time waiting.
    """
    return [
        sys.executable,
        *("-W", "ignore:You're running the worker with superuser"),
        *("-m", "celery", "--quiet", "--app", "config", "worker"),
        *("--pool", "threads"),
        *("--concurrency", str(settings.WORKER_CONCURRENCY)),
        *("--loglevel", "WARNING"),
        "--without-gossip",
        "--without-mingle",
        "--without-heartbeat",
    ]


def hold(name: str) -> IO[str]:
    """Take a lock in the state folder and hold it while the returned file is open.

    Raises CannotStart if another process holds the lock. The file stays open across os.execv.
    """
    path: Path = settings.STATE_DIR / f"{name}.lock"
    try:
        # With PostgreSQL and Redis, the settings do not create this folder.
        make_private(settings.STATE_DIR)
        file = locked(path)
    except BlockingIOError:
        raise CannotStart(
            f"another instance is already using {settings.STATE_DIR} ({path.name} is locked): "
            "stop it first, or set another STATE_DIR"
        ) from None
    except OSError as error:
        raise CannotStart(f"STATE_DIR: {settings.STATE_DIR}: {error.strerror}") from None
    os.set_inheritable(file.fileno(), True)
    return file


def share_metrics() -> None:
    """Create an empty folder where the processes that `serve` starts share their metrics.

    The folder is named after the port, which no other `serve` can use. Without the folder, each
    process shows only its own metrics.
    """
    folder: Path = settings.STATE_DIR / "metrics" / str(settings.PORT)
    try:
        make_private(settings.STATE_DIR)
        shutil.rmtree(folder, ignore_errors=True)
        folder.parent.mkdir(mode=0o700, exist_ok=True)  # parents=True would ignore the mode
        folder.mkdir(mode=0o700)
    except OSError as error:
        logger.warning("each process shows only its own metrics: %s: %s", folder, error.strerror)
    else:
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(folder)


def check_port() -> None:
    """Check that the web server can listen on HOST and PORT. Raises CannotStart."""
    family = socket.AF_INET6 if ":" in settings.HOST else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((settings.HOST, settings.PORT))
        except OSError as error:
            raise CannotStart(
                f"cannot listen on {settings.HOST}:{settings.PORT} ({error.strerror}): "
                "stop the program that uses it, or set another HOST or PORT"
            ) from None


def end_with_parent() -> None:
    """Ask the kernel to end this process when its parent dies, even from SIGKILL (Linux only)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


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


def raise_file_limit() -> None:
    """Raise the open-file limit of this process and its children to the system's maximum."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):  # some systems report no limit but enforce one
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


@dataclass
class Family:
    """The processes that `serve` has started, by name."""

    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self, name: str, command: list[str]) -> None:
        """Start a process in its own session, so that Ctrl-C reaches only `serve`.

        The process group of an earlier process with this name is killed first.
        """
        if name in self.running:
            _end_group(self.running[name])
        self.running[name] = subprocess.Popen(  # noqa: S603 - our own command line
            command,
            cwd=settings.BASE_DIR,
            start_new_session=True,
            preexec_fn=end_with_parent,
        )

    def ended(self) -> str | None:
        """Return the name of a process that has ended, or None if all are still running."""
        return next((name for name, one in self.running.items() if one.poll() is not None), None)

    def stop(self) -> None:
        """Ask all processes to stop, and kill those that have not stopped in time."""
        for process in self.running.values():
            if process.poll() is None:
                process.terminate()
        deadline = time.monotonic() + grace() + STOPPED_AFTER
        for process in self.running.values():
            with suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, deadline - time.monotonic()))
            _end_group(process)


def _end_group(process: subprocess.Popen[bytes]) -> None:
    # The children of a killed process keep running in its process group.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def answers(url: str) -> bool:
    """Return whether the web server answers a health check within a second."""
    try:
        directly = build_opener(ProxyHandler({}))  # ignores the environment's proxies
        with directly.open(f"{url}/healthz", timeout=1) as answer:
            return bool(answer.status == 200)
    except (URLError, OSError):
        return False


def wait_until(fact: Callable[[], bool], seconds: float) -> bool:
    """Poll `fact` until it returns true. Returns False if that takes more than `seconds`."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if fact():
            return True
        time.sleep(0.05)
    return False
