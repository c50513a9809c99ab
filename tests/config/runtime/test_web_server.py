"""The web server stops on a signal, whichever thread receives the signal."""

import ctypes
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from config.runtime.web_server import Interrupt
from tests.servers.processes import ROOT, Web, wait_until


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_that_reaches_another_thread_stops_the_server(number: signal.Signals) -> None:
    with Web() as web:
        assert web.running
        pid = web.running.pid
        wait_until(web.answers, told=web.said)
        others = [int(task.name) for task in Path(f"/proc/{pid}/task").iterdir()]
        others.remove(pid)
        assert ctypes.CDLL(None).tgkill(pid, others[0], number) == 0
        assert web.wait(15) == 0


@pytest.mark.django_db(transaction=True)
def test_a_web_process_leaves_a_hangup_to_the_server() -> None:
    """When a terminal closes, all processes get SIGHUP. The server then stops the web processes."""
    with Web() as web:
        assert web.running
        before = web.alive()
        for entry in before:
            if entry.name != str(web.running.pid):
                os.kill(int(entry.name), signal.SIGHUP)
        wait_until(web.answers, told=web.said)
        assert web.alive() == before
        web.signal_all(signal.SIGHUP)
        assert web.wait(15) == 0


@pytest.mark.django_db(transaction=True)
def test_a_server_whose_processes_are_still_starting_stops_at_once() -> None:
    with Web() as web:
        web.kill()
        web.start()
        wait_until(lambda: len(web.alive()) > 1, told=web.said)
        web.signal(signal.SIGTERM)
        assert web.wait(10) == 0


# Sends SIGTERM to each new process immediately, and prints how many processes received it.
FORKS = """
import os, signal, time
from config.runtime.web_server import keep_signals_at_forks

keep_signals_at_forks()
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
received = 0
for _ in range(50):
    child = os.fork()
    if not child:
        time.sleep(1)
        os._exit(1)
    os.kill(child, signal.SIGTERM)
    received += os.waitpid(child, 0)[1] == 0
print(received)
"""


def test_a_signal_right_after_a_fork_is_not_lost() -> None:
    done = subprocess.run([sys.executable, "-c", FORKS], cwd=ROOT, capture_output=True, check=True)
    assert done.stdout == b"50\n"


def test_a_stop_is_not_forgotten_when_a_failed_process_is_replaced() -> None:
    interrupt = Interrupt()
    interrupt.set()
    interrupt.clear()
    assert not interrupt.is_set()
    interrupt.set()
    interrupt.final = True
    interrupt.clear()
    assert interrupt.wait()
