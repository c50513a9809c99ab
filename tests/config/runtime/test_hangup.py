"""A process started with nohup still ignores SIGHUP."""

import subprocess
import sys

import pytest

from tests.servers.processes import ROOT

PROGRAM = """
import signal
signal.signal(signal.SIGHUP, signal.{before})
from config.runtime.hangup import stop_on_hangup
signal.signal(signal.SIGHUP, print)  # as Celery does
signal.signal(signal.SIGTERM, signal.default_int_handler)
stop_on_hangup()
print(signal.getsignal(signal.SIGHUP) == signal.{after})
"""


@pytest.mark.parametrize(
    ("before", "after"), [("SIG_IGN", "SIG_IGN"), ("SIG_DFL", "default_int_handler")]
)
def test_a_hangup_stops_a_worker_unless_nohup_ignores_it(before: str, after: str) -> None:
    program = PROGRAM.format(before=before, after=after)
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout == "True\n", done.stderr
