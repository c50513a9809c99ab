"""Fork the service's processes from a process that has already imported the installed packages.

Importing Django, Celery and the other packages takes most of the startup time. Each process still
imports the settings and the service's own modules itself, in its own environment.
"""

import multiprocessing
import os
import resource
import runpy
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from types import ModuleType
from typing import NamedTuple
from unittest import mock

from tests.house.source import ROOT

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["tests.servers.packages"])


class Plan(NamedTuple):
    """The command, environment, standard input and open-file limit of a forked process.

    Output is appended to the files `out` and `err`.
    """

    command: Sequence[str]
    environment: Mapping[str, str]
    out: Path
    err: Path
    stdin: Connection | None
    open_files: int | None


class Forked:
    """A Python process in its own session, with some of the methods of subprocess.Popen.

    `command` contains the arguments of a Python interpreter: a script, `-m` and a module, or `-c`
    and a program, each followed by its own arguments. `stdin` is a file descriptor, and
    `open_files` is the soft limit on open files.
    """

    def __init__(
        self,
        *command: str,
        environment: Mapping[str, str],
        out: Path,
        err: Path | None = None,
        stdin: int | None = None,
        open_files: int | None = None,
    ) -> None:
        given = None if stdin is None else Connection(os.dup(stdin), writable=False)
        alone = {"ENV_FILE": os.devnull} | dict(environment)  # not the developer's .env
        plan = Plan(command, alone, out, err or out, given, open_files)
        ready, says_ready = CONTEXT.Pipe(duplex=False)
        # The process is a daemon, so it ends with the tests even if a failed test does not stop it.
        self.process = CONTEXT.Process(target=run, args=(plan, says_ready), daemon=True)
        # Hide the main module, which may be the soak. Otherwise, the child would import it again.
        with mock.patch.dict(sys.modules, __main__=ModuleType("__main__")):
            self.process.start()
        says_ready.close()
        ready.recv_bytes()
        ready.close()

    @property
    def pid(self) -> int:
        assert self.process.pid
        return self.process.pid

    @property
    def returncode(self) -> int | None:
        return self.process.exitcode

    def poll(self) -> int | None:
        return self.process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        self.process.join(timeout)
        if self.process.exitcode is None:
            raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0.0)
        return self.process.exitcode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def run(plan: Plan, says_ready: Connection) -> None:
    """Set up this forked process according to its plan, and run the plan's command."""
    multiprocessing.current_process().daemon = False  # daemons cannot start processes
    os.setsid()
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # ignored under nohup
    os.chdir(ROOT)
    os.environ.clear()
    os.environ.update(plan.environment)
    for number, path in ((1, plan.out), (2, plan.err)):
        file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        os.dup2(file, number)
        os.close(file)
    if plan.stdin:
        os.dup2(plan.stdin.fileno(), 0)
        sys.stdin = os.fdopen(0, closefd=False)
    if "PYTHONUNBUFFERED" in plan.environment:
        sys.stdout.reconfigure(write_through=True)  # type: ignore[union-attr]  # a text file
    if plan.open_files:
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (plan.open_files, hard))
    says_ready.send_bytes(b"ready")
    says_ready.close()
    sys.path[0] = str(ROOT)
    first, *rest = plan.command
    sys.argv = [first, *rest]
    if first == "-m":
        sys.argv = rest
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    elif first == "-c":
        exec(rest[0], {"__name__": "__main__"})
    elif first.startswith("-"):  # any other option needs a new interpreter
        os.execv(sys.executable, [sys.executable, *plan.command])
    else:
        runpy.run_path(first, run_name="__main__")


def run_to_end(
    *command: str, environment: Mapping[str, str], given: str = "", timeout: float
) -> subprocess.CompletedProcess[str]:
    """Run a process to completion, like subprocess.run, with `given` as its standard input."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as stdin:
        stdin.write(given.encode())
        stdin.seek(0)
        out, err = Path(folder) / "out", Path(folder) / "err"
        process = Forked(*command, environment=environment, out=out, err=err, stdin=stdin.fileno())
        try:
            code = process.wait(timeout)
        finally:
            process.kill()
        return subprocess.CompletedProcess(command, code, out.read_text(), err.read_text())
