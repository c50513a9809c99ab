"""Set up an installation for a soak test, with processes that the test can kill."""

import json
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.servers import postgres
from tests.servers.broker import Broker
from tests.servers.forks import run_to_end
from tests.servers.postgres import Postgres
from tests.servers.processes import Process, Web, Worker, wait_until
from tests.tools.soak import ledger
from tests.tools.soak.ledger import Ledger

SLOTS = 32
TIMEOUT, DELAYS = 2.0, (0.5, 1.0, 2.0)  # in seconds; the service's defaults are 10 and (1, 5, 25)
EMBEDDED, SERVERS = "the embedded default", "PostgreSQL and Redis"
SETTINGS = {
    "RATE_LIMIT_IP": "off",
    "RATE_LIMIT_USER": "off",
    "WEBHOOK_TIMEOUT": str(TIMEOUT),
    "WEBHOOK_RETRY_DELAYS": ",".join(map(str, DELAYS)),
    "WEBHOOK_ALLOWED_NETWORKS": "127.0.0.0/8",
    "WEB_WORKERS": "2",
}


class NotInTime(Exception):
    """Raised if a soak does not end in time. The message says what the soak was waiting for."""


@dataclass
class Ground:
    """The components of an installation. The caller starts the web server and the workers."""

    name: str
    ledger: Ledger
    web: Web
    workers: list[Worker]
    postgres: Postgres | None = None
    broker: Broker | None = None

    @property
    def processes(self) -> list[Process]:
        return [self.web, *self.workers]

    def wait(self, fact: Callable[[], Any], what: str, *, deadline: float) -> None:
        """Wait until a function returns a true value, or raise NotInTime at the deadline.

        The deadline is a time on the monotonic clock.
        """
        try:
            wait_until(fact, max(0.0, deadline - time.monotonic()))
        except AssertionError:
            said = [f"{each.log.name}: {each.said()[-1_000:]}" for each in self.processes]
            words = f"the deadline passed while waiting for {what}"
            raise NotInTime("\n".join([words, *said])) from None

    def run(self, *words: str) -> Any:  # Any: JSON
        """Run a command in the installation's environment, and return its parsed JSON output.

        The command must succeed.
        """
        done = run_to_end(*words, environment=self.web.environment, timeout=120)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def gaps(self) -> list[str]:
        """Run verify_ledger, and return one line for each kind of gap that it found.

        All processes must have stopped.
        """
        done = run_to_end(
            *("manage.py", "verify_ledger", "--json", "--grace", "0"),
            environment=self.web.environment,
            timeout=600,
        )
        assert done.returncode in (0, 1) and done.stdout, done.stderr
        kinds = json.loads(done.stdout)["kinds"]
        return [f"{kind}: {found}" for kind, found in kinds.items() if found["count"]]

    def furnish(self, urls: Sequence[str]) -> Any:  # Any: JSON
        """Run furnish.py to create the tables and an endpoint per URL, and return its output."""
        return self.run("-m", "tests.tools.soak.furnish", *urls)


def servers_are_there() -> bool:
    return bool(postgres.programs() and shutil.which("redis-server"))


@contextmanager
def embedded() -> Iterator[Ground]:
    """Yield an installation with a web server and one worker on SQLite."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="chatbots-soak-")))
        database = folder / "database.sqlite3"
        where = {"DATABASE_URL": "", "REDIS_URL": "", "TEST_DATABASE_NAME": str(database)}
        settings: dict[str, Any] = SETTINGS | where | {"state_dir": folder}
        ground = Ground(
            EMBEDDED, ledger.of_file(database), Web(**settings), [Worker(slots=SLOTS, **settings)]
        )
        stack.callback(end, ground)
        yield ground


@contextmanager
def servers() -> Iterator[Ground]:
    """Yield an installation with a web server, two workers, and its own PostgreSQL and Redis."""
    with ExitStack() as stack:
        database, broker = stack.enter_context(Postgres()), stack.enter_context(Broker())
        where = {
            "DATABASE_URL": database.url,
            "REDIS_URL": broker.url,
            "REDIS_PREFIX": postgres.NAME,
            "TEST_DATABASE_NAME": postgres.NAME,
        }
        folders = [
            Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="chatbots-soak-")))
            for _ in range(3)
        ]
        settings: dict[str, Any] = SETTINGS | where
        ground = Ground(
            SERVERS,
            ledger.of_server(database.url),
            Web(state_dir=folders[0], **settings),
            [Worker(slots=SLOTS, state_dir=each, **settings) for each in folders[1:]],
            database,
            broker,
        )
        stack.callback(end, ground)
        yield ground


def end(ground: Ground) -> None:
    for process in ground.processes:
        if process.running:
            process.kill()
