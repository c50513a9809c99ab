"""Run `manage.py webhook_sink`, a local receiver of webhooks, as a separate process."""

import json
import os
import re
import signal
from pathlib import Path
from typing import Any

from tests.patience import PATIENCE
from tests.servers.forks import Forked
from tests.servers.processes import wait_until


class RunningSink:
    """A running `manage.py webhook_sink` on a free port, with its output."""

    def __init__(
        self, state_dir: Path, *options: str, given: str = "", stdin: int | None = None
    ) -> None:
        self.state_dir = state_dir
        self.out, self.err = state_dir / "out", state_dir / "err"
        for file in (self.out, self.err):
            file.write_text("")
        given_file = state_dir / "given"
        given_file.write_text(given)
        with given_file.open() as text:
            self.process = Forked(
                *("manage.py", "webhook_sink", "--port", "0", *options),
                environment=os.environ | {"STATE_DIR": str(state_dir), "PYTHONUNBUFFERED": "1"},
                out=self.out,
                err=self.err,
                stdin=text.fileno() if stdin is None else stdin,
            )

    @property
    def ca_file(self) -> str:
        return str(self.state_dir / "webhook_sink" / "ca.pem")

    @property
    def said(self) -> str:
        return self.out.read_text() + self.err.read_text()

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.read_text().splitlines()]

    def url(self) -> str:
        listening = re.compile(r"Listening on (https://\S+)\. ")
        wait_until(
            lambda: listening.search(self.said) or self.process.poll() is not None,
            told=lambda: self.said,
        )
        found = listening.search(self.said)
        assert found, self.said  # if nothing is found, the sink has exited
        return found[1]

    def wait_for(self, text: str) -> str:
        wait_until(lambda: text in self.said, told=lambda: self.said)
        return self.said

    def stop(self, number: int = signal.SIGINT) -> int:
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)
