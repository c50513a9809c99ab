"""`serve` locks the state folder, and gives its processes enough time to stop."""

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
