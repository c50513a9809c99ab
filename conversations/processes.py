"""Command lines, locks and checks for the processes that `serve` starts."""

import fcntl
import logging
import os
import resource
import shutil
import socket
import sys
from contextlib import suppress
from pathlib import Path
from typing import IO
from urllib.error import URLError
from urllib.request import ProxyHandler, build_opener

from django.conf import settings
from django.core.management import call_command

from config.runtime.state import make_private
from config.runtime.static_files import is_collected
from config.runtime.stopping import grace

KILL_TIMEOUT_MOST = 1800  # the longest kill timeout that granian accepts, in seconds
# Maximum number of connections per web process. It is high because a proxy keeps idle connections
# open, and because such a connection occupies no thread.
CONNECTIONS = 8192
# Seconds from the start of a new web process on SIGHUP until the old one is stopped. Must be longer
# than a start, or there would be a moment without a process that listens.
REPLACED_AFTER = 5
UNUSED = ["rest_framework", "swagger-ui-dist"]  # static files for pages that we do not have

logger = logging.getLogger(__name__)


class CannotStart(Exception):
    """Raised if a process cannot start or has exited. The message states the cause or a remedy."""


def web_command() -> list[str]:
    """Return the web server's command line.

    In a machine-bound installation (without PostgreSQL or without Redis), the web server has a
    single process, so that the counters of the rate limits can be kept in its memory.
    """
    workers = 1 if settings.MACHINE_BOUND else settings.WEB_WORKERS or os.cpu_count() or 1
    return [
        sys.executable,
        *("-m", "granian"),
        *("--interface", "wsgi"),
        *("--http", "1"),
        "--no-ws",
        *("--host", settings.HOST),
        *("--port", str(settings.PORT)),
        *("--workers", str(workers)),
        *("--blocking-threads", str(settings.WEB_THREADS)),
        *("--backlog", str(CONNECTIONS)),
        *("--backpressure", str(CONNECTIONS)),
        *("--log-level", "error"),
        *("--log-config", str(settings.BASE_DIR / "config" / "runtime" / "server_log.json")),
        "--respawn-failed-workers",
        *("--respawn-interval", str(REPLACED_AFTER)),
        *("--workers-kill-timeout", str(min(grace(), KILL_TIMEOUT_MOST))),
        "config.wsgi:application",
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
        *("--hostname", f"worker-{os.getpid()}@%h"),  # several may run on one machine
        *("--loglevel", "WARNING"),
        "--without-gossip",
        "--without-mingle",
        "--without-heartbeat",
    ]


def locked(path: Path) -> IO[str]:
    """Open a file that only its owner can access, and lock it until it is closed.

    Raises BlockingIOError if it is already locked.
    """
    file = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w")
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # an error closes the file
    return file


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
        shutil.rmtree(folder, ignore_errors=True)
        for private in (settings.STATE_DIR, folder.parent, folder):
            make_private(private)
    except OSError as error:
        logger.warning("each process shows only its own metrics: %s: %s", folder, error.strerror)
    else:
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(folder)


def collect_static_files() -> None:
    """Collect this version's static files, and delete those of other versions.

    If collecting fails, the service serves the original files, uncompressed.
    """
    folder = Path(settings.STATIC_ROOT)
    if is_collected(folder):
        return
    try:
        call_command("collectstatic", interactive=False, verbosity=0, ignore_patterns=UNUSED)
        for other in folder.parent.iterdir():
            if other != folder:
                shutil.rmtree(other)
    except OSError as error:
        logger.warning("static files are served uncompressed: %s", error)


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


def raise_file_limit() -> None:
    """Raise the open-file limit of this process and its children to the system's maximum."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):  # some systems report no limit but enforce one
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def answers(url: str) -> bool:
    """Return whether the web server answers a health check within a second."""
    try:
        directly = build_opener(ProxyHandler({}))  # ignores the environment's proxies
        with directly.open(f"{url}/healthz", timeout=1) as answer:
            return bool(answer.status == 200)
    except (URLError, OSError):
        return False
