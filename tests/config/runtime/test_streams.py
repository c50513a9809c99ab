"""A command that cannot write to its standard output ends with a one-line message."""

import subprocess
import sys

import pytest

from tests.patience import PATIENCE
from tests.servers.processes import ROOT, Process

REDIRECTIONS = {
    ">/dev/full": "No space left on device",
    ">&-": "Bad file descriptor",
    "<&- >&-": "Bad file descriptor",
    "| head -c 0": "Broken pipe",
}


def run_in_shell(command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a shell command line in which `manage` stands for `python manage.py`."""
    return subprocess.run(
        ["/bin/bash", "-o", "pipefail", "-c", f'manage() {{ "$PY" manage.py "$@"; }}; {command}'],
        cwd=ROOT,
        env=Process(PY=sys.executable, **environment).environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )


@pytest.mark.parametrize("redirection", REDIRECTIONS)
@pytest.mark.parametrize(
    ("words", "unbuffered"), [("help", ""), ("help", "1"), ("issue_api_key --help", "")]
)
def test_output_that_cannot_be_written_is_reported(
    words: str, unbuffered: str, redirection: str
) -> None:
    done = run_in_shell(f"manage {words} {redirection}", PYTHONUNBUFFERED=unbuffered)
    message = f"CommandError: cannot write to standard output: {REDIRECTIONS[redirection]}\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", message)


def test_a_closed_standard_input_is_empty() -> None:
    done = run_in_shell("manage webhook_sink --secret - <&-")
    assert (done.returncode, done.stderr) == (1, "CommandError: standard input is empty\n")


def test_a_closed_standard_error_does_not_stop_a_command() -> None:
    done = run_in_shell("manage help 2>&-")
    assert done.returncode == 0
    assert "rotate_api_keys" in done.stdout


def test_characters_that_the_encoding_lacks_are_escaped() -> None:
    done = run_in_shell(
        "manage shell --verbosity 0 --command 'print(\"K\\u00f6ln\")'", PYTHONIOENCODING="ascii"
    )
    assert (done.returncode, done.stdout) == (0, "K\\xf6ln\n"), done.stderr
