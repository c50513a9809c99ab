"""The five minutes of docs/webhooks.md: its blocks as they stand, on ports of this test's own."""

import os
import re
import signal
import subprocess
import sys

import pytest

from tests.groups import needs
from tests.patience import PATIENCE
from tests.servers.installation import Installation
from tests.servers.processes import ROOT, free_port, wait_until

SECTION = "## See it in five minutes"
STARTS = re.compile(r"^ +((?:WEBHOOK_\w+=\S+ )+)make run$", re.M)
ARRIVED = "NEW_MESSAGE: token ok, signature ok; answer: 200"


def blocks():
    """Read the section's shell blocks: what is typed in the first terminal and in the third."""
    text = (ROOT / "docs" / "webhooks.md").read_text()
    [section] = re.findall(rf"^{SECTION}\n(.*?)^## ", text, re.M | re.S)
    return re.findall(r"^```sh\n(.*?)^```", section, re.M | re.S)


def typed(block, places):
    """Put this test's own places into a block; each must stand there."""
    for documented, own in places.items():
        assert documented in block
        block = block.replace(documented, own)
    return block


@pytest.fixture
def installation(tmp_path):
    with Installation(tmp_path) as made:
        made.environment |= {"PYTHONUNBUFFERED": "1", "no_proxy": "127.0.0.1"}
        if made.server:  # only the embedded default is furnished by itself
            made.command("migrate", "-v0")
            made.command("seed_demo", "--json")
        yield made


@pytest.fixture
def terminal(installation, tmp_path):
    """The first terminal: runs a block; returns the file that holds what it shows."""
    running = []

    def run(block):
        shown = tmp_path / "first"
        with shown.open("w") as out:
            process = subprocess.Popen(
                ["sh", "-ec", block],
                cwd=ROOT,
                env=installation.environment,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )
        running.append(process)
        return shown

    yield run
    for process in running:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.mark.proves("Events", "Request headers")
def test_the_walk_through_shows_two_events_with_token_and_signature_ok(installation, terminal):
    needs("curl")
    first, third = blocks()
    python, port = {".venv/bin/python": sys.executable}, str(free_port())
    sink = {"make base": "", "webhook_sink": f"webhook_sink --port {port}"}
    shown = terminal(typed(first, python | sink))
    line = wait_until(lambda: STARTS.search(shown.read_text()), told=shown.read_text)
    installation.environment |= dict(pair.split("=", 1) for pair in line[1].split())
    key = re.search(r"^ +Key +(\S+)$", installation.start(), re.M)[1]
    places = {"8000": str(installation.port), "8443": port, "KEY=…": f"KEY={key}"}
    done = subprocess.run(
        ["sh", "-ec", typed(third, python | places)],
        cwd=ROOT,
        env=installation.environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    wait_until(lambda: shown.read_text().count(ARRIVED) == 2, told=lambda: shown.read_text())
