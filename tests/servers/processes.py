"""Start, stop and kill processes of the service that use the test database."""

import contextlib
import itertools
import os
import secrets
import signal
import socket
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from random import SystemRandom
from typing import Any, Self

import requests
from django.conf import settings
from django.db import connection

from tests.patience import PATIENCE
from tests.servers import certificates
from tests.servers.forks import Forked

ROOT = Path(__file__).resolve().parents[2]
WORKER = ("-m", "celery", "--app", "config", "worker", "--loglevel", "WARNING")
QUICKLY = ("--without-gossip", "--without-mingle", "--without-heartbeat")


def wait_until(fact: Callable[[], Any], seconds: float = PATIENCE, *, told: Any = None) -> Any:
    """Wait until a function returns a true value, and return it. Fail if it takes too long."""
    deadline = time.monotonic() + seconds
    while not (found := fact()):
        assert time.monotonic() < deadline, told() if callable(told) else f"not within {seconds} s"
        time.sleep(0.02)
    return found


def stat(pid: int | str) -> list[str]:
    """Return the fields of /proc/PID/stat that follow the name. Raises OSError if there is none."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def runs(pid: int | str) -> bool:
    """Return whether any thread of a process is still running.

    A killed process becomes a zombie when its main thread has ended. With hundreds of threads, it
    takes 20 ms more until the last of them has ended and the process's files are closed.
    """
    with contextlib.suppress(OSError):
        fields = stat(pid)
        state, threads = fields[0], int(fields[17])
        return state != "Z" or threads > 1
    return False


class Process:
    """A process of the service with its own environment. Use it as a context manager."""

    command: tuple[str, ...] = ()

    def __init__(self, *, state_dir: Path | None = None, **environment: str) -> None:
        self.state_dir = state_dir or Path(tempfile.mkdtemp(prefix="chatbots-process-"))
        # Several processes may use the folder, one after the other. Each has a log of its own.
        self.log = self.state_dir / f"{type(self).__name__.lower()}-{secrets.token_hex(4)}.log"
        self.environment = os.environ | {
            "DJANGO_SETTINGS_MODULE": "tests.servers.settings",
            "TEST_DATABASE_NAME": str(connection.settings_dict["NAME"]),
            "STATE_DIR": str(self.state_dir),
            "WEBHOOK_CA_BUNDLE": certificates.ca_file(),
            "WEBHOOK_RETRY_DELAYS": ",".join(map(str, settings.WEBHOOK_RETRY_DELAYS)),
            "WEBHOOK_TIMEOUT": str(settings.WEBHOOK_TIMEOUT),
        }
        self.environment |= environment
        self.running: Forked | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def start(self) -> None:
        self.running = Forked(*self.command, environment=self.environment, out=self.log)

    def signal(self, number: int) -> None:
        assert self.running
        os.kill(self.running.pid, number)

    def kill(self) -> None:
        """Kill the process without letting it clean up, as if the machine had failed."""
        if self.running and self.running.poll() is None:
            self.signal(signal.SIGKILL)
        self.wait()

    def stop(self) -> int:
        """Send SIGTERM, wait for the process to exit, and return its exit code."""
        self.signal(signal.SIGTERM)
        return self.wait()

    def wait(self, seconds: float = PATIENCE) -> int:
        assert self.running
        return self.running.wait(seconds)

    def said(self) -> str:
        return self.log.read_text(errors="replace")


class Worker(Process):
    """A worker process with `slots` threads."""

    def __init__(self, *, slots: int = 8, crash_point: str = "", **options: Any) -> None:
        super().__init__(TEST_CRASH_POINT=crash_point, **options)
        name = f"worker-{secrets.token_hex(4)}@%h"  # each worker needs its own
        self.command = (*WORKER, *QUICKLY, "--hostname", name, "--concurrency", str(slots))


# The ports to choose from. They are below the range that the system assigns to clients, and no two
# test processes share a port. This keeps other processes from taking a port before a server
# listens on it or while the server restarts.
TURN = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % 16
PORTS = itertools.cycle(SystemRandom().sample(range(16_384 + TURN, 32_768, 16), 500))


def free_port() -> int:
    """Choose an unused port for a process to listen on."""
    for port in PORTS:
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise AssertionError


class Web(Process):
    """A web server. Entering its context starts the server and waits until it responds."""

    command = ("manage.py", "serve", "web")

    def __init__(self, **options: Any) -> None:
        self.port = free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        super().__init__(PORT=str(self.port), PUBLIC_URL=self.address, **options)

    def __enter__(self) -> Self:
        self.start()
        wait_until(self.answers, told=self.said)
        return self

    def signal_all(self, number: int) -> None:
        """Send a signal to the server and its workers."""
        assert self.running
        os.killpg(self.running.pid, number)

    def kill(self) -> None:
        """Kill the server and its workers, and wait until all of them have ended.

        A worker keeps the database open until it has ended. If the database file were replaced
        before then, SQLite would report "disk I/O error".
        """
        if self.running and self.running.poll() is None:
            self.signal_all(signal.SIGKILL)
        self.wait()
        wait_until(lambda: not self.alive())

    def alive(self) -> list[Path]:
        """Return the /proc entry of each server or worker process that has not ended."""
        assert self.running
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if stat(entry.name)[2] == str(self.running.pid) and runs(entry.name):
                    found.append(entry)
        return found

    def answers(self) -> bool:
        with contextlib.suppress(OSError):
            return bool(requests.get(f"{self.address}/healthz", timeout=5).ok)
        return False
