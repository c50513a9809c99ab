"""`serve`: a failed start reports the cause, and a stopped service leaves no process behind."""

import contextlib
import json
import os
import shutil
import signal
import socket
import sqlite3
import stat
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from accounts import keys
from accounts.models import ApiKey
from accounts.services import api_key
from config.settings import VERSION
from conversations.management.commands.serve import KEY_LABEL, Command
from tests.factories.accounts import AccountFactory
from tests.patience import PATIENCE
from tests.servers.forks import Forked, run_to_end
from tests.servers.processes import free_port, runs, wait_until

FEW_FILES = 256


class Start:
    """A `serve` process with its state folder in `folder`, started as `make run` starts it."""

    def __init__(self, folder: Path, *words: str, **environment: str) -> None:
        self.log = folder / f"serve-{len(list(folder.glob('*.log')))}.log"
        plain = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        known = {"STATE_DIR": str(folder / "state"), "EMAIL_URL": "console:"}
        self.process = Forked(
            *("manage.py", "serve", *words),
            environment=plain | known | environment,
            out=self.log,
            open_files=FEW_FILES,
        )

    def said(self) -> str:
        return self.log.read_text(errors="replace")

    def ready(self, count: int = 1) -> "Start":
        """Wait until the service serves requests, and its worker is ready for the nth time."""
        wait_until(lambda: "Press Ctrl-C to stop." in self.said(), told=self.said)
        wait_until(lambda: self.said().count("the worker is ready") == count, told=self.said)
        return self

    def ended(self) -> tuple[int, str]:
        """Wait for the process to exit, and return its exit code and output."""
        return self.process.wait(PATIENCE), self.said()

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(PATIENCE)

    def lines(self) -> list[dict[str, Any]]:
        """Return the log records, without the welcome text."""
        return [json.loads(line) for line in self.said().splitlines() if line.startswith("{")]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Start, int]]:
    """A running service whose state folder was readable by other users before the start."""
    folder, port = tmp_path_factory.mktemp("running"), free_port()
    (folder / "state").mkdir(mode=0o755)
    (folder / "state" / "database.sqlite3").touch(mode=0o644)
    start = Start(folder, PORT=str(port))
    try:
        yield folder, start.ready(), port
    finally:
        start.stop()


@pytest.fixture(scope="module")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A state folder with a migrated database and a user, so that `serve` seeds no demo data."""
    folder = tmp_path_factory.mktemp("migrated")
    plain = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    done = run_to_end(
        *("manage.py", "shell", "-v", "0", "-c", MIGRATE),
        environment=plain | {"STATE_DIR": str(folder)},
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def folder(migrated: Path, tmp_path: Path) -> Path:
    """A new folder with a copy of the migrated state folder."""
    shutil.copytree(migrated, tmp_path / "state")
    return tmp_path


MODELS = "SELECT id FROM chatbots_llmmodel WHERE name = ?"
MIGRATE = """
from django.core.management import call_command
from accounts.models import User

call_command("migrate", verbosity=0)
User.objects.create_user("ann@example.com")
"""


def is_free(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
        return True
    return False


def family_of(pid: int) -> list[int]:
    """Return the ids of a process and its descendants, each parent before its children."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(one for child in children for one in family_of(int(child)))]


@pytest.mark.slow
def test_other_users_cannot_read_the_state(running: Any) -> None:
    folder, start, _ = running
    state = folder / "state"
    files = {"database.sqlite3", "database.sqlite3-wal", "web.lock", "worker.lock"}
    # SQLite deletes its write-ahead log when the last connection closes. Wait until a new
    # connection creates the file again.
    wait_until(lambda: files <= {path.name for path in state.iterdir()}, told=start.said)
    metrics = state / "metrics"  # closed to others, so its files need no mode of their own
    paths = [state, *(path for path in state.rglob("*") if not path.is_relative_to(metrics))]
    assert stat.S_IMODE(metrics.stat().st_mode) == 0o700
    wanted = {path: 0o700 if path.is_dir() else 0o600 for path in paths}
    assert {path: stat.S_IMODE(path.stat().st_mode) for path in paths} == wanted


def test_the_start_line_gives_version_address_and_mode(running: Any) -> None:
    _, start, port = running
    [line] = [line for line in start.lines() if "starts" in line["message"]]
    expected = {"version": VERSION, "address": f"127.0.0.1:{port}", "mode": "embedded, no Redis"}
    assert line.items() >= expected.items()
    assert all(value in line["message"] for value in expected.values())


@pytest.mark.slow
def test_a_second_start_on_one_state_folder_is_rejected(running: Any) -> None:
    folder, first, _ = running
    for words in ((), ("web",), ("worker",)):
        model = {"LLM_BASE_URL": "http://127.0.0.1:9/v1", "LLM_MODEL": "second"}
        code, said = Start(folder, *words, PORT=str(free_port()), **model).ended()
        assert code != 0, words
        assert "already using" in said, words
        assert "Traceback" not in said, words
    assert first.process.poll() is None
    with contextlib.closing(sqlite3.connect(folder / "state" / "database.sqlite3")) as database:
        assert not database.execute(MODELS, ["second"]).fetchall(), "no model is added"


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, pytest.param(signal.SIGHUP, marks=pytest.mark.slow)]
)
def test_a_service_that_is_asked_to_stop_leaves_nothing_behind(folder: Path, number: int) -> None:
    port = free_port()
    start = Start(folder, PORT=str(port)).ready()
    family = family_of(start.process.pid)
    start.process.send_signal(number)
    code, said = start.ended()
    assert code == 0
    assert "Stopping." in said
    assert is_free(port)
    assert len(family) >= 4  # serve, the worker, the web server, and the web server's child
    assert not any(map(runs, family))


@pytest.mark.slow
def test_a_worker_that_exits_is_restarted(folder: Path) -> None:
    start = Start(folder, PORT=str(free_port())).ready()
    [worker] = {*family_of(start.process.pid)[1:]} - {
        pid for server in servers_of(start) for pid in family_of(server)
    }
    os.kill(worker, signal.SIGKILL)
    start.ready(2)
    assert "The worker exited; restarting it." in start.said()
    start.stop()


@pytest.mark.slow
def test_a_killed_web_server_leaves_no_orphan(folder: Path) -> None:
    port = free_port()
    start = Start(folder, PORT=str(port)).ready()
    [server] = servers_of(start)
    os.kill(server, signal.SIGKILL)
    code, said = start.ended()
    assert code == 1
    assert "web exited" in said
    wait_until(lambda: is_free(port), 30)


def servers_of(start: Start) -> list[int]:
    """Return the process ids of a service's web servers, whose children serve the requests."""
    named = {pid: Path(f"/proc/{pid}/cmdline").read_bytes() for pid in family_of(start.process.pid)}
    return [pid for pid in named if b"celery" not in named[pid] and orphans_of(pid)][1:]


def orphans_of(pid: int) -> list[int]:
    """Return the process ids of a web server's descendants, which could outlive the server."""
    return family_of(pid)[1:]


def test_a_port_in_use_is_named(folder: Path) -> None:
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)  # as the web server does
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        for words in ((), ("web",)):
            code, said = Start(folder, *words, PORT=str(port)).ended()
            assert code == 1
            assert f"cannot listen on 127.0.0.1:{port}" in said
            assert "set another HOST or PORT" in said
            assert "Traceback" not in said


def test_a_database_of_a_newer_version_is_rejected(folder: Path) -> None:
    database = sqlite3.connect(folder / "state" / "database.sqlite3")
    with contextlib.closing(database), database:
        database.execute(
            "INSERT INTO django_migrations (app, name, applied) VALUES (?, ?, ?)",
            ("chatbots", "0999_later", "2030-01-01"),
        )
    for words in ((), ("web",), ("worker",)):
        code, said = Start(folder, *words, PORT=str(free_port())).ended()
        assert code == 1
        assert "belongs to a newer version of this service" in said
        assert "chatbots.0999_later" in said
        assert "Traceback" not in said


@pytest.mark.parametrize(
    "words", [("serve", "web"), ("serve", "worker"), ("issue_api_key", "owner@acme.example")]
)
def test_a_database_without_migrations_is_rejected_and_the_migrations_are_named(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    environment = {"PATH": os.environ["PATH"], "STATE_DIR": str(tmp_path / "state")}
    environment |= {"PORT": str(free_port()), "EMAIL_URL": "console:"}
    ended = run_to_end("manage.py", *words, environment=environment, timeout=PATIENCE)
    said = ended.stdout + ended.stderr
    assert ended.returncode == 1
    assert "lacks migrations that this version needs (accounts.0001_initial" in said
    assert "run manage.py migrate first" in said
    assert "Traceback" not in said


@pytest.mark.parametrize("embedded", [True, False])
def test_only_the_embedded_default_prints_a_key(db: None, settings: Any, embedded: bool) -> None:
    settings.EMBEDDED = embedded
    owner = AccountFactory().owner
    _, earlier = api_key.issue(owner, label=KEY_LABEL)
    key = Command().fresh_key()
    assert bool(key) is embedded
    alive = ApiKey.objects.alive().filter(label=KEY_LABEL)
    assert not alive.filter(digest=keys.digest(earlier)).exists()
    assert alive.count() == embedded
    said = StringIO()
    Command(stdout=said).welcome(key, None)
    assert ("cbk_" in said.getvalue()) is embedded
    assert ("issue_api_key EMAIL" in said.getvalue()) is not embedded
