"""Start a PostgreSQL server that tests can crash. It uses a new folder and a free port."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Self

import psycopg

from tests.servers.processes import free_port, wait_until

NAME = "soak"


def programs() -> Path | None:
    """Find the folder of PostgreSQL's programs, which is not in PATH on Debian."""
    if found := shutil.which("initdb"):
        return Path(found).resolve().parent
    folders = Path("/usr/lib/postgresql").glob("*/bin")
    return max(folders, key=lambda folder: int(folder.parent.name), default=None)


class Postgres:
    """Runs the server while its context is active. `url` is the address of the test database."""

    def __init__(self) -> None:
        self.programs = programs()
        self.folder = Path(tempfile.mkdtemp(prefix="chatbots-postgres-"))
        self.port = free_port()
        self.url = f"postgresql://postgres@127.0.0.1:{self.port}/{NAME}"
        # Any: options of Popen
        self.options: dict[str, Any] = {"cwd": self.folder, "stdout": subprocess.DEVNULL}
        if os.geteuid() == 0:  # PostgreSQL refuses to run as root
            owner = next(one for one in pwd.getpwall() if one.pw_name in ("postgres", "nobody"))
            os.chown(self.folder, owner.pw_uid, owner.pw_gid)
            self.options |= {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": []}

    def __enter__(self) -> Self:
        assert self.programs
        words = ["--auth=trust", "--username=postgres", "--encoding=UTF8", "--no-locale"]
        initdb = [str(self.programs / "initdb"), *words, "-D", str(self.folder / "data")]
        subprocess.run(initdb, check=True, **self.options)
        self.start()
        with psycopg.connect(self.url.replace(NAME, "postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {NAME}")
        return self

    def __exit__(self, *_: object) -> None:
        self.crash()
        shutil.rmtree(self.folder)

    def start(self) -> None:
        """Start the server, and wait until it has recovered."""
        assert self.programs
        where = ["-D", str(self.folder / "data"), "-p", str(self.port), "-h", "127.0.0.1", "-k", ""]
        with (self.folder / "log").open("ab") as log:
            command = [str(self.programs / "postgres"), *where]
            self.running = subprocess.Popen(command, stderr=log, **self.options)
        wait_until(self.answers, 60, told=(self.folder / "log").read_text)

    def crash(self) -> None:
        """Stop the server immediately, without a checkpoint, like `pg_ctl stop -m immediate`."""
        self.running.send_signal(signal.SIGQUIT)
        self.running.wait(30)

    def answers(self) -> bool:
        try:
            psycopg.connect(self.url.replace(NAME, "postgres"), connect_timeout=2).close()
        except psycopg.Error:
            return False
        return True
