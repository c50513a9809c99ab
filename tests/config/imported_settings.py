"""The settings as an environment produces them, without the start of a process for each case."""

import os
import runpy
import warnings
from pathlib import Path
from typing import Any
from unittest.mock import patch

from tests.house.source import ROOT


def bare(folder: Path, **environment: str) -> dict[str, str]:
    """Return these variables with a state folder and what every process needs; nothing else."""
    plain = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    return plain | {"STATE_DIR": str(folder)} | environment


def import_settings(folder: Path, **environment: str) -> dict[str, Any]:
    """Run the settings module again with only these variables. Raises SystemExit for errors.

    The settings of this process stay as they are.
    """
    given = bare(folder, **environment)
    with patch.dict(os.environ, given, clear=True), warnings.catch_warnings():
        return runpy.run_path(str(ROOT / "config" / "settings.py"))
