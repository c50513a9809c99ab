"""A Redis server that a test can kill."""

import shutil
import socket
import subprocess
import tempfile
from typing import Self

from tests.groups import needs
from tests.servers.processes import free_port, wait_until


class Broker:
    """A Redis server without persistence, as a context manager."""

    def __init__(self) -> None:
        self.command = needs("redis-server")
        self.port = free_port()
        self.folder = tempfile.mkdtemp(prefix="chatbots-broker-")
        self.url = f"redis://127.0.0.1:{self.port}/0"

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        shutil.rmtree(self.folder)

    def start(self) -> None:
        options = f"--port {self.port} --bind 127.0.0.1 --appendonly no --dir {self.folder}"
        self.running = subprocess.Popen(
            [self.command, *options.split(), "--save", ""],
            stdout=subprocess.DEVNULL,
        )

        def listens() -> bool:
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", self.port)) == 0

        wait_until(listens)

    def kill(self) -> None:
        self.running.kill()
        self.running.wait()
