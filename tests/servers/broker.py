"""A Redis server that a test can kill, suspend or make read-only."""

import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Self

import redis

from tests.groups import needs
from tests.servers.processes import free_port, wait_until


class Broker:
    """Runs a Redis server without persistence while its context is active."""

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

    def client(self) -> redis.Redis:
        return redis.Redis.from_url(self.url)

    @contextmanager
    def killed(self) -> Iterator[None]:
        self.kill()
        yield
        self.start()

    @contextmanager
    def suspended(self) -> Iterator[None]:
        self.running.send_signal(signal.SIGSTOP)
        yield
        self.running.send_signal(signal.SIGCONT)

    @contextmanager
    def demoted(self) -> Iterator[None]:
        """Turn the server into a read-only replica, as a failover does."""
        self.client().replicaof("127.0.0.1", free_port())
        try:
            yield
        finally:
            self.client().replicaof("NO", "ONE")

    @contextmanager
    def full(self) -> Iterator[None]:
        """Limit the server's memory so that it cannot store new data."""
        self.client().config_set("maxmemory", 1)
        try:
            yield
        finally:
            self.client().config_set("maxmemory", 0)

    @contextmanager
    def unable_to_save(self) -> Iterator[None]:
        """Make a snapshot fail, as on a full disk, so that the server refuses writes."""
        snapshot = Path(self.folder) / "dump.rdb"
        self.client().config_set("save", "3600 1")  # this waits until startup is complete
        # The server cannot replace this folder with a snapshot. The folder is created only now,
        # because the server would not start if it already existed.
        snapshot.mkdir()
        self.client().bgsave()
        wait_until(lambda: self.client().info("persistence")["rdb_last_bgsave_status"] == "err")
        try:
            yield
        finally:
            self.client().config_set("save", "")
            snapshot.rmdir()


Fault = Callable[[Broker], AbstractContextManager[None]]
REFUSALS: tuple[Fault, ...] = (Broker.demoted, Broker.full, Broker.unable_to_save)
