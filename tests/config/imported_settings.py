"""Use the settings in a bare environment, in this process or in another."""

import os
import runpy
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any
from unittest.mock import patch

from tests.house.source import ROOT


def bare(folder: Path, **environment: str) -> dict[str, str]:
    """Return an environment with STATE_DIR, PATH, LANG and the given variables, without .env."""
    plain = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    return plain | {"STATE_DIR": str(folder), "ENV_FILE": os.devnull} | environment


def run(folder: Path, script: str) -> str:
    """Run Python code with the settings of a bare environment, and return what it prints.

    The code runs in a separate process. Asserts that it succeeds.
    """
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        env=bare(folder, DJANGO_SETTINGS_MODULE="config.settings"),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def import_settings(folder: Path, **environment: str) -> dict[str, Any]:
    """Run the settings module again in a bare environment, without the developer's .env.

    Raises SystemExit if a setting is invalid. The settings of this process do not change.
    """
    given = bare(folder, **environment)
    with (
        patch.dict(os.environ, given, clear=True),
        warnings.catch_warnings(),
    ):
        return runpy.run_path(str(ROOT / "config" / "settings.py"))
