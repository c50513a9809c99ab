"""Run the servers that are measured, and read their CPU time and memory from /proc.

One server is the service as it is deployed. The other is the floor, the minimal implementation in
tests/tools/bench/floor.
"""

import contextlib
import os
import socket
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from django.conf import settings
from django.db import connection

from tests.servers.processes import Process, Web, stat

TICK = os.sysconf("SC_CLK_TCK")
OUT_OF_THE_WAY = "999999999"  # a limit that is never reached


def service(**environment: str) -> Web:
    """Return the web server. Its rate limits count requests, but are never reached."""
    limits = {
        "RATE_LIMIT_IP": f"{OUT_OF_THE_WAY}/1s",
        "RATE_LIMIT_USER": f"{OUT_OF_THE_WAY}/60s",
    }
    return Web(**limits | environment)


class Floor(Web):
    """The floor. It runs under granian, as the service does, and has two threads per process."""

    def __init__(self) -> None:
        super().__init__(
            FLOOR_DATABASE=database_address(),
            FLOOR_REDIS=settings.REDIS_URL,
            DJANGO_SETTINGS_MODULE="",
        )
        workers = 1 if settings.MACHINE_BOUND else os.cpu_count() or 1
        command: tuple[str, ...] = (
            *("-m", "granian", "--interface", "wsgi", "--http", "1", "--no-ws"),
            *("--host", "127.0.0.1", "--port", str(self.port), "--log-level", "error"),
            *("--workers", str(workers), "--blocking-threads", "2", "--backlog", "1024"),
            "tests.tools.bench.floor.application:application",
        )
        self.command = command  # type: ignore[assignment] # longer than that of the service

    def answers(self) -> bool:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port)):
            return True
        return False


def database_address() -> str:
    """Return the address of this run's database, or the path of its SQLite file."""
    name = str(connection.settings_dict["NAME"])
    server = os.environ.get("TEST_DATABASE_URL")
    return urlunsplit(urlsplit(server)._replace(path=name)) if server else name


def members(process: Process) -> list[Path]:
    """Return the /proc folders of a server and of all processes that it has started."""
    assert process.running
    session = str(process.running.pid)
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if stat(entry.name)[3] == session:
                found.append(entry)
    return found


def cpu_seconds(process: Process) -> float:
    """Return the processor time of a server and its processes, in seconds."""
    total = 0
    for entry in members(process):
        user, system = stat(entry.name)[11:13]
        total += int(user) + int(system)
    return total / TICK


def memory_mib(process: Process) -> float:
    """Return the memory of a server and its processes, in MiB. Shared pages count once."""
    total = 0
    for entry in members(process):
        with contextlib.suppress(OSError):
            for line in (entry / "smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    total += int(line.split()[1])
    return total / 1024


def environment_without_servers() -> dict[str, str]:
    """Return the environment variables for a run that uses the embedded default (SQLite)."""
    ours = {"TEST_DATABASE_URL", "TEST_REDIS_URL", "TEST_STATE_DIR"}
    return {name: value for name, value in os.environ.items() if name not in ours}
