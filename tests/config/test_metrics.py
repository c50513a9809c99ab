"""Counters are summed over all processes, including dead ones. Gauges cover only live processes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from config import metrics
from tests.servers.processes import ROOT

COUNT = """
import django
django.setup()
from config import metrics, middleware
middleware.count_request("GET", "/api/v1/chatbots", 200, 0.02)
middleware.count_request("BREW", "", 404, 0.001)
metrics.WEB_THREADS.set(10)
"""
PRINT = """
from prometheus_client import generate_latest
print(generate_latest(metrics.registry()).decode())
"""
SHOW = COUNT + PRINT
OF_CHATBOTS = '{method="GET",route="/api/v1/chatbots",status="200"}'


def run(script: str, folder: Path) -> str:
    environment = os.environ | {
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "PROMETHEUS_MULTIPROC_DIR": str(folder),
    }
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout + done.stderr


@pytest.mark.slow
def test_counters_of_dead_processes_are_summed_and_their_gauges_are_dropped(
    tmp_path: Path,
) -> None:
    run(COUNT, tmp_path)
    run(COUNT, tmp_path)
    lines = run(SHOW, tmp_path).splitlines()
    assert f"chatbots_requests_total{OF_CHATBOTS} 3.0" in lines
    assert 'chatbots_request_seconds_count{method="GET",route="/api/v1/chatbots"} 3.0' in lines
    assert "chatbots_web_threads 10.0" in lines
    assert len([*tmp_path.glob("gauge_live*.db")]) == len(
        [*tmp_path.glob(f"gauge_live*_{live_process(tmp_path)}.db")]
    )


def live_process(folder: Path) -> str:
    """Return the id of the only process whose gauge files remain: the last one to run."""
    [one] = {path.stem.rpartition("_")[2] for path in folder.glob("gauge_live*.db")}
    return one


def test_an_unknown_method_or_path_has_no_series_of_its_own(tmp_path: Path) -> None:
    shown = run(SHOW, tmp_path)
    assert 'chatbots_requests_total{method="other",route="none",status="404"} 1.0' in shown
    assert "BREW" not in shown


@pytest.mark.parametrize("another_user", [False, True], ids=["this process", "another user's"])
def test_gauges_of_live_processes_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, another_user: bool
) -> None:
    def forbidden(*_: int) -> None:
        raise PermissionError

    if another_user:
        monkeypatch.setattr(os, "kill", forbidden)  # faked, because root may signal any process
    file = tmp_path / f"gauge_livesum_{os.getpid()}.db"
    file.touch()
    metrics.forget_dead(tmp_path)
    assert file.exists()
