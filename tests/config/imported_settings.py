"""Compute the settings for an environment, without starting a process."""

import os
import runpy
import warnings
from pathlib import Path
from typing import Any
from unittest.mock import patch

from tests.house.source import ROOT


def bare(folder: Path, **environment: str) -> dict[str, str]:
    """Return an environment that contains only the given variables and STATE_DIR, PATH and LANG."""
    plain = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    return plain | {"STATE_DIR": str(folder)} | environment


def import_settings(folder: Path, **environment: str) -> dict[str, Any]:
    """Run the settings module again in a bare environment.

    Raises SystemExit if a setting is invalid. The settings of this process do not change.
    """
    given = bare(folder, **environment)
    with patch.dict(os.environ, given, clear=True), warnings.catch_warnings():
        return runpy.run_path(str(ROOT / "config" / "settings.py"))
