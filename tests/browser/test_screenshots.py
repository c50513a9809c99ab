"""The command that takes a screenshot of every page."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.servers.processes import ROOT

PNG = b"\x89PNG"


@pytest.mark.slow
def test_the_command_takes_a_screenshot_of_each_requested_page(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.browser.screenshots", "--look", "390-dark"]
    command += ["--only", "llmmodel/$", str(tmp_path)]
    own = {name: value for name, value in os.environ.items() if not name.startswith("TEST_")}
    done = subprocess.run(command, cwd=ROOT, env=own, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    pictures = {picture.name: picture.read_bytes()[:4] for picture in tmp_path.iterdir()}
    states = ("as-opened", "filters")
    assert pictures == {f"admin-chatbots-llmmodel-{state}-390-dark.png": PNG for state in states}
