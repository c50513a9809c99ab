"""PostgreSQL's disk is full for a while. These tests start a PostgreSQL server on a small disk."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import psycopg
import pytest
import requests
from django.conf import settings

from tests.groups import needs
from tests.servers.processes import wait_until
from tests.tools.soak.ground import Ground, servers, servers_are_there

pytestmark = pytest.mark.skipif(settings.EMBEDDED, reason="the embedded default has no server")

SIZE = "64m"


@pytest.fixture
def disk() -> Iterator[Path]:
    """Mount a small disk, or skip the test if this process is not permitted to mount one."""
    with tempfile.TemporaryDirectory(prefix="chatbots-disk-") as folder:
        command = ["mount", "-t", "tmpfs", "-o", f"size={SIZE},mode=777", "tmpfs", folder]
        if os.geteuid() or subprocess.run(command, capture_output=True).returncode:
            pytest.skip("no file system can be mounted here")
        try:
            yield Path(folder)
        finally:
            subprocess.run(["umount", folder], check=True)


@pytest.fixture
def ground(disk: Path) -> Iterator[Ground]:
    """Yield an installation whose database, but nothing else, is on the small disk."""
    if not servers_are_there():
        needs("initdb and redis-server")
    with servers() as ground:
        assert ground.postgres
        folder = disk / "database"
        folder.mkdir()
        shutil.chown(folder, ground.postgres.options["user"], ground.postgres.options["group"])
        server = ground.postgres.url.replace("/soak", "/postgres")
        with psycopg.connect(server, autocommit=True) as session:
            session.execute(f"CREATE TABLESPACE small LOCATION '{folder}'".encode())
            session.execute("ALTER DATABASE soak SET TABLESPACE small")
        ground.web.environment["DJANGO_SETTINGS_MODULE"] = "config.settings"
        yield ground


def fill(disk: Path) -> Path:
    """Fill a disk with one file, and return the file's path."""
    with (disk / "filler").open("wb", buffering=0) as file:
        while True:
            try:
                file.write(b"x" * 4096)
            except OSError:
                return disk / "filler"


@pytest.mark.proves("Response envelope")
def test_requests_that_need_space_get_a_503_and_reads_go_on(ground: Ground, disk: Path) -> None:
    made = ground.furnish(["https://receiver.example/hook"])
    ground.web.start()
    wait_until(ground.web.answers, told=ground.web.said)
    threads = f"{ground.web.address}/api/v1/chatting/{made['chatbots'][0]}/threads"
    ask = partial(requests.request, headers={"Authorization": f"Bearer {made['key']}"}, timeout=30)
    ready = partial(ask, "GET", f"{ground.web.address}/readyz")
    assert ask("POST", threads, json={}).ok
    assert ready().json()["parts"]["database"] == "ok"
    filler = fill(disk)
    writes: list[requests.Response] = []

    def fails() -> bool:
        writes.append(ask("POST", threads, json={}))
        return not writes[-1].ok

    wait_until(fails)  # the first rows may fit into the tables' last pages
    assert (writes[-1].status_code, writes[-1].headers.get("Retry-After")) == (503, "1")
    assert ask("GET", threads).ok
    filler.unlink()
    assert ask("POST", threads, json={}).ok
    assert ready().json()["parts"]["database"] == "ok"
    assert "No space left on device" in ground.web.said()
    assert "Traceback" not in ground.web.said()
