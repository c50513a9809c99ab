"""Set up a separate installation, and start it with `manage.py serve`, as `make run` does.

The installation uses the test servers if TEST_DATABASE_URL is set. Otherwise, it runs in embedded
mode, with SQLite.
"""

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit, urlunsplit

import psycopg
from cryptography.fernet import Fernet

from tests.patience import PATIENCE
from tests.servers import certificates
from tests.servers.forks import Forked, run_to_end
from tests.servers.processes import free_port, wait_until


class Installation:
    """An installation with its own database and state folder. Use it as a context manager."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        self.database = f"chatbots_e2e_{os.getpid()}_{self.port}"
        self.log = folder / "serve.log"
        self.environment = os.environ | {
            "STATE_DIR": str(folder / "state"),
            "PORT": str(self.port),
            "PUBLIC_URL": self.address,
            "SECRET_KEY": "",
            "ENCRYPTION_KEYS": "",
            "RATE_LIMIT_IP": "100/1s",
            "RATE_LIMIT_USER": "500/60s",
            "REDIS_PREFIX": self.database,
            "WEBHOOK_CA_BUNDLE": certificates.ca_file(),
            "WEBHOOK_ALLOWED_NETWORKS": "127.0.0.0/8",
            # This proxy does not exist, so a webhook or startup check that used it would fail.
            "http_proxy": "http://127.0.0.1:9",
            "https_proxy": "http://127.0.0.1:9",
            "DJANGO_SETTINGS_MODULE": "config.settings",
        }
        self.server = os.environ.get("TEST_DATABASE_URL", "")
        if self.server:
            self.environment |= {
                "DATABASE_URL": urlunsplit(urlsplit(self.server)._replace(path=self.database)),
                "SECRET_KEY": "only for tests",
                "ENCRYPTION_KEYS": Fernet.generate_key().decode(),
            }
        self.running: Forked | None = None

    def __enter__(self) -> Self:
        self.database_does("CREATE DATABASE")
        self.database_does("ALTER DATABASE", "SET synchronous_commit = off")
        return self

    def __exit__(self, *_: object) -> None:
        if self.running and self.running.poll() is None:
            self.running.terminate()  # it then ends web and the worker, which have other groups
            try:
                self.running.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(self.running.pid, signal.SIGKILL)
                self.running.wait()
        self.database_does("DROP DATABASE IF EXISTS", "WITH (FORCE)")

    def database_does(self, command: str, how: str = "") -> None:
        if self.server:
            with psycopg.connect(self.server, autocommit=True) as connection:
                connection.execute(f'{command} "{self.database}" {how}'.encode())

    def command(self, *words: str, given: str = "") -> Any:
        done = run_to_end(
            "manage.py", *words, environment=self.environment, given=given, timeout=PATIENCE
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout) if "--json" in words else done.stdout

    def start(self) -> str:
        """Start the service, wait until its startup is complete, and return its output."""
        self.log.write_bytes(b"")
        self.running = Forked("manage.py", "serve", environment=self.environment, out=self.log)
        wait_until(lambda: "Press Ctrl-C to stop." in self.said(), told=self.said)
        return self.said()

    def said(self) -> str:
        return self.log.read_text(errors="replace")

    def interrupt(self) -> int:
        """Stop the service as Ctrl-C does, and return its exit code."""
        assert self.running
        self.running.send_signal(signal.SIGINT)
        return self.running.wait(PATIENCE)
