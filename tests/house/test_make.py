"""`make clean` never deletes the state folder, regardless of how `.env` sets STATE_DIR."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.source import ROOT

pytestmark = pytest.mark.processes


def clean(folder: Path, dotenv: str) -> "subprocess.CompletedProcess[str]":
    """Run `make clean` in a folder with this `.env`, and with a state folder at `build/state`."""
    shutil.copy(ROOT / "Makefile", folder)
    (folder / "build" / "state").mkdir(parents=True)
    (folder / ".env").write_text(dotenv)
    plain = {name: os.environ[name] for name in os.environ if name != "STATE_DIR"}
    return subprocess.run(
        ["make", "clean"], cwd=folder, env=plain, capture_output=True, text=True, timeout=60
    )


@pytest.mark.parametrize(
    "line",
    [
        *("STATE_DIR=build/state", " export STATE_DIR='build/state'", "STATE_DIR = build/state"),
        *("STATE_DIR=build/state # ours", "A=build\nSTATE_DIR=${A}/state"),
    ],
)
def test_a_state_folder_among_the_generated_files_is_kept(tmp_path: Path, line: str) -> None:
    (tmp_path / ".venv").symlink_to(sys.prefix)
    done = clean(tmp_path, f"{line}\n")
    assert done.returncode != 0
    assert "STATE_DIR is in build; move it first" in done.stderr
    assert (tmp_path / "build" / "state").is_dir()


def test_nothing_is_deleted_if_the_file_cannot_be_read(tmp_path: Path) -> None:
    done = clean(tmp_path, "STATE_DIR=build/state\n")
    assert done.returncode != 0
    assert "cannot read STATE_DIR from .env; run make base first" in done.stderr
    assert (tmp_path / "build" / "state").is_dir()
