"""A sink that runs as a separate process."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

from tests.patience import PATIENCE
from tests.servers.processes import ROOT, wait_until


class RunningSink:
    """A running `manage.py webhook_sink` on a free port, with its output."""

    def __init__(self, state_dir: Path, *options: str, given: str = "", stdin: int) -> None:
        self.state_dir = state_dir
        self.out, self.err = state_dir / "out", state_dir / "err"
        with self.out.open("w") as out, self.err.open("w") as err:
            self.process = subprocess.Popen(
                [sys.executable, "manage.py", "webhook_sink", "--port", "0", *options],
                cwd=ROOT,
                env=os.environ | {"STATE_DIR": str(state_dir), "PYTHONUNBUFFERED": "1"},
                stdin=stdin,
                stdout=out,
                stderr=err,
                text=True,
            )
        if self.process.stdin:
            with contextlib.suppress(BrokenPipeError):
                self.process.stdin.write(given)
                self.process.stdin.close()

    @property
    def ca_file(self) -> str:
        return str(self.state_dir / "webhook_sink" / "ca.pem")

    @property
    def said(self) -> str:
        return self.out.read_text() + self.err.read_text()

    @property
    def events(self) -> list[dict]:
        return [json.loads(line) for line in self.out.read_text().splitlines()]

    def url(self) -> str:
        listening = re.compile(r"Listening on (https://\S+)\. ")
        wait_until(
            lambda: listening.search(self.said) or self.process.poll() is not None,
            told=lambda: self.said,
        )
        found = listening.search(self.said)
        assert found, self.said  # it has ended instead
        return found[1]

    def wait_for(self, text: str) -> str:
        wait_until(lambda: text in self.said, told=lambda: self.said)
        return self.said

    def stop(self, number: int = signal.SIGINT) -> int:
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)
