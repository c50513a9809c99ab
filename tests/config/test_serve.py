"""What is in the way of a start is named, and nothing is left behind."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.house.source import ROOT
from tests.patience import PATIENCE
from tests.servers.processes import free_port, wait_until


class Start:
    """One `serve` on a state folder of its own, as `make run` runs it."""

    def __init__(self, folder: Path, *words: str, **environment: str) -> None:
        self.log = folder / f"serve-{len(list(folder.glob('*.log')))}.log"
        plain = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "manage.py", "serve", *words],
                cwd=ROOT,
                env=plain
                | {"STATE_DIR": str(folder / "state"), "EMAIL_URL": "console:"}
                | environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def said(self) -> str:
        return self.log.read_text(errors="replace")

    def ended(self) -> tuple[int, str]:
        """Wait for its end; returns the exit code and what it said."""
        return self.process.wait(PATIENCE), self.said()

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(PATIENCE)


@pytest.fixture
def running(tmp_path: Path) -> Iterator[tuple[Path, Start, int]]:
    """A service that runs."""
    port = free_port()
    start = Start(tmp_path, PORT=str(port))
    try:
        wait_until(lambda: "Ctrl-C stops it." in start.said(), told=start.said)
        yield tmp_path, start, port
    finally:
        start.stop()


def test_a_second_start_on_one_state_folder_is_refused(running: Any) -> None:
    folder, first, port = running
    for words in ((), ("web",), ("worker",)):
        code, said = Start(folder, *words, PORT=str(free_port())).ended()
        assert code != 0, words
        assert "already runs" in said or "only one worker" in said, words
        assert "Traceback" not in said, words
    assert first.process.poll() is None
    first.process.terminate()
    code, said = first.ended()
    assert code == 0
    assert "Stopping." in said
    with socket.create_server(("127.0.0.1", port)):
        pass  # nothing of it listens any longer


def test_a_port_in_use_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, said = Start(tmp_path, PORT=str(port)).ended()
    assert code == 1
    assert f"cannot listen on 127.0.0.1:{port}" in said
    assert "set HOST or PORT to something free" in said
    assert "Traceback" not in said


def test_a_wrong_environment_starts_nothing(tmp_path: Path) -> None:
    code, said = Start(tmp_path, PORT="0", WEBHOOK_TIMEOUT="-1").ended()
    assert code != 0
    assert said.startswith("The environment is not valid:")
    assert not (tmp_path / "state").exists()


def test_a_database_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    migrate = [sys.executable, "manage.py", "shell", "-v", "0", "-c", NEWER]
    plain = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    environment = plain | {"STATE_DIR": str(tmp_path / "state")}
    subprocess.run(migrate, cwd=ROOT, env=environment, check=True, timeout=PATIENCE)
    for words in ((), ("web",)):
        code, said = Start(tmp_path, *words, PORT=str(free_port())).ended()
        assert code == 1
        assert "belongs to a newer version of this service" in said
        assert "chatbots.0999_later" in said
        assert "Traceback" not in said


NEWER = """
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

MigrationRecorder(connection).record_applied("chatbots", "0999_later")
"""
