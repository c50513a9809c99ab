"""`serve` locks the state folder, and gives its processes enough time to stop."""

import os
import re
import stat
from pathlib import Path
from typing import Any

import pytest

from config.runtime.stopping import grace
from conversations import processes
from tests.house.source import ROOT


def test_the_lock_creates_the_state_folder_even_with_separate_servers(
    tmp_path: Path, settings: Any
) -> None:
    settings.STATE_DIR = tmp_path / "new" / "state"
    with processes.hold("web"):
        assert stat.S_IMODE(settings.STATE_DIR.stat().st_mode) == 0o700
    (tmp_path / "file").touch()
    settings.STATE_DIR = tmp_path / "file" / "state"
    with pytest.raises(processes.CannotStart, match=r"STATE_DIR: .*: Not a directory"):
        processes.hold("web")


def test_the_metrics_folder_belongs_only_to_the_owner_even_if_it_existed(
    tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.STATE_DIR = tmp_path / "state"
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", "")  # restored after the test
    (tmp_path / "state" / "metrics" / str(settings.PORT)).mkdir(mode=0o755, parents=True)
    processes.share_metrics()
    folders = [settings.STATE_DIR, *settings.STATE_DIR.rglob("*")]
    assert {stat.S_IMODE(path.stat().st_mode) for path in folders} == {0o700}
    assert os.environ["PROMETHEUS_MULTIPROC_DIR"] == str(folders[-1])


def test_without_a_metrics_folder_the_service_starts_and_one_line_says_so(
    tmp_path: Path,
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    settings.STATE_DIR = tmp_path
    monkeypatch.delenv("PROMETHEUS_MULTIPROC_DIR", raising=False)
    (tmp_path / "metrics").touch()
    processes.share_metrics()
    assert "each process shows only its own metrics" in caplog.text
    assert "PROMETHEUS_MULTIPROC_DIR" not in os.environ


def test_a_process_has_longer_to_stop_than_a_model_has_to_answer(settings: Any) -> None:
    for settings.LLM_TIMEOUT, settings.WEBHOOK_TIMEOUT in ((30.0, 10.0), (5.0, 45.5)):
        command = processes.web_command()
        given = int(command[command.index("--workers-kill-timeout") + 1])
        assert given == grace()
        assert given >= max(settings.LLM_TIMEOUT, settings.WEBHOOK_TIMEOUT) + 10


def test_containers_have_longer_to_stop_than_their_processes_need() -> None:
    given = re.findall(
        r"stop_grace_period: \$\{STOP_GRACE_PERIOD:-(\d+)s\}", (ROOT / "compose.yaml").read_text()
    )
    assert len(given) == 2  # web and worker
    assert min(map(int, given)) > grace()
