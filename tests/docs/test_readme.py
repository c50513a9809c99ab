"""The shell blocks on the README's first screen run as written, except for ports and paths."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.groups import needs
from tests.patience import PATIENCE
from tests.servers.installation import Installation
from tests.servers.processes import ROOT, free_port, wait_until

ARRIVED = "NEW_MESSAGE: token ok, signature ok; response: 200"


def blocks() -> list[str]:
    """Return the README's shell blocks that precede its first section, in order."""
    screen = (ROOT / "README.md").read_text().partition("\n## ")[0]
    return re.findall(r"^```sh\n(.*?)^```", screen, re.M | re.S)


def typed(block: str, places: dict[str, str]) -> str:
    """Replace the given parts of a block, such as ports. Fails if the block lacks one of them."""
    for documented, own in places.items():
        assert documented in block
        block = block.replace(documented, own)
    return block


@pytest.fixture
def installation(tmp_path: Path) -> Iterator[Installation]:
    with Installation(tmp_path) as made:
        made.environment |= {"PYTHONUNBUFFERED": "1", "no_proxy": "127.0.0.1"}
        if made.server:  # only the embedded default sets up its own database
            made.command("migrate", "-v0")
            made.command("seed_demo", "--json")
        yield made


@pytest.mark.proves("Events", "Request headers")
def test_the_first_screen_of_the_readme_ends_with_a_verified_webhook(
    installation: Installation, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    needs("curl")
    conversation, sink, start, webhook = blocks()
    python, port = {".venv/bin/python": sys.executable}, str(free_port())
    shown = tmp_path / "sink"
    with shown.open("w") as out:
        command = typed(sink, python | {"webhook_sink": f"webhook_sink --port {port}"})
        terminal = subprocess.Popen(
            ["sh", "-ec", f"exec {command}"],
            cwd=ROOT,
            env=installation.environment,
            stdout=out,
            stderr=out,
        )
    request.addfinalizer(terminal.kill)
    wait_until(lambda: "Listening on" in shown.read_text(), told=shown.read_text)
    start = typed(start, {"var/": f"{installation.environment['STATE_DIR']}/"})
    assert start.split()[-2:] == ["make", "run"]
    installation.environment |= dict(pair.split("=", 1) for pair in start.split()[:-2])
    welcome = installation.start()
    if not installation.server:
        assert re.search(r"^ +Password +\S{16}$", welcome, re.M)
    conversation = typed(conversation, python | {"8000": str(installation.port)})
    done = subprocess.run(
        ["sh", "-ec", conversation + typed(webhook, python | {"8443": port})],
        cwd=ROOT,
        env=installation.environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    assert "We are open Monday to Friday from 9:00" in done.stdout
    assert "CONVERSATION_ESCALATED" in done.stdout
    assert "We deliver from Monday to Saturday" in done.stdout
    wait_until(lambda: shown.read_text().count(ARRIVED) == 2, told=lambda: shown.read_text())
