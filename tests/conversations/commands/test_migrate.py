"""Processes that migrate the embedded database at the same time wait for each other."""

import os
import subprocess
import sys
from pathlib import Path

from tests.patience import PATIENCE
from tests.servers.processes import ROOT


def test_two_migrations_at_once_both_succeed(tmp_path: Path) -> None:
    environment = {"PATH": os.environ["PATH"], "STATE_DIR": str(tmp_path / "state")}
    command = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
    both = [
        subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    ends = [(each.communicate(timeout=PATIENCE)[1], each.returncode) for each in both]
    assert ends == [("", 0), ("", 0)]
