"""PostgreSQL stops or hangs, and later recovers. The tests start their own server."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import pytest
import requests
from django.conf import settings

from tests.groups import needs
from tests.servers.postgres import Postgres, programs
from tests.servers.processes import ROOT, Web, wait_until

pytestmark = [
    pytest.mark.skipif(settings.EMBEDDED, reason="the embedded default has no server"),
    pytest.mark.proves("Response envelope"),
]

CLIENTS = 40  # number of concurrent requests; far exceeds the size of the connection pool
# Bounds in seconds, with which a busy machine complies. The slowest of the first requests waits for
# the pool; if each waited in turn, it would take 20 s.
GIVEN_UP = 10.0
# Less than the pool's timeout and than an attempt to connect, which take 2 s. Once the outage is
# known, half of the requests, and the quickest of a few probes, must respond within this time.
AT_ONCE = 1.9
PATH = "/api/v1/chatbots"


class Took(NamedTuple):
    """A response, and how many seconds it took."""

    response: requests.Response
    seconds: float


class Service(NamedTuple):
    """A web server, its database server, an API key, and the session of a signed-in superuser."""

    web: Web
    postgres: Postgres
    key: str
    staff: requests.Session

    def get(self, path: str = PATH) -> Took:
        began = time.monotonic()
        known = {"Authorization": f"Bearer {self.key}"}
        response = requests.get(self.web.address + path, headers=known, timeout=60)
        return Took(response, time.monotonic() - began)

    def get_many(self) -> list[Took]:
        with ThreadPoolExecutor(CLIENTS) as threads:
            return list(threads.map(lambda _: self.get(), range(CLIENTS)))

    def probe(self) -> float:
        """Probe the service during an outage, and return the shortest response time in seconds."""
        probes = [self.get("/readyz") for _ in range(3)]
        assert {took.response.status_code for took in probes} == {503}
        return min(took.seconds for took in probes)

    def backends(self) -> list[int]:
        """Return the ids of PostgreSQL's child processes. Each connection has one."""
        server = str(self.postgres.running.pid)
        told = subprocess.run(
            ["ps", "-o", "pid=", "--ppid", server], capture_output=True, check=True
        )
        return [int(number) for number in told.stdout.split()]

    def halt(self) -> None:
        """Halt PostgreSQL's processes.

        The main process is halted first, because it reaps children that exit. Signaling a child
        that has been reaped would fail.
        """
        self.postgres.running.send_signal(signal.SIGSTOP)
        for process in self.backends():
            os.kill(process, signal.SIGSTOP)

    def resume(self) -> None:
        """Resume PostgreSQL's child processes first and then its main process."""
        for process in self.backends():
            os.kill(process, signal.SIGCONT)
        self.postgres.running.send_signal(signal.SIGCONT)


def manage(environment: dict[str, str], *words: str) -> str:
    command = [sys.executable, "manage.py", *words]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=True)
    return done.stdout.decode()


def signed_in(address: str, email: str, password: str) -> requests.Session:
    session, login = requests.Session(), f"{address}/admin/login/"
    session.get(login, timeout=60)
    form = {"username": email, "password": password, "next": "/admin/"}
    form["csrfmiddlewaretoken"] = session.cookies["csrftoken"]
    assert session.post(login, form, timeout=60).url == f"{address}/admin/"
    return session


@pytest.fixture(scope="module")
def service(django_db_setup: None) -> Iterator[Service]:
    if not programs():
        needs("initdb")
    limits = {"RATE_LIMIT_IP": "off", "RATE_LIMIT_USER": "off"}
    with Postgres() as postgres:
        web = Web(WEB_WORKERS="1", DATABASE_URL=postgres.url, **limits)
        web.environment["DJANGO_SETTINGS_MODULE"] = "config.settings"  # the service's timeouts
        manage(web.environment, "migrate", "--verbosity", "0")
        seed: dict[str, Any] = json.loads(manage(web.environment, "seed_demo", "--json"))
        with web:
            staff = signed_in(web.address, seed["adminEmail"], seed["adminPassword"])
            yield Service(web, postgres, seed["accounts"][0]["users"][0]["apiKey"], staff)


def test_an_outage_is_reported_quickly_and_logged_once(service: Service) -> None:
    wait_until(lambda: service.get().response.ok)
    assert {took.response.status_code for took in service.get_many()} <= {200, 503}
    logged = len(service.web.said())
    service.postgres.crash()
    try:
        assert service.probe() < AT_ONCE
        for place, patience in ((CLIENTS - 1, GIVEN_UP), (CLIENTS // 2, AT_ONCE)):
            answers = service.get_many()
            assert {took.response.status_code for took in answers} == {503}
            assert sorted(took.seconds for took in answers)[place] < patience
        assert answers[0].response.json() == {"success": False, "message": "service unavailable"}
        assert answers[0].response.headers["Retry-After"] == "1"
        page = service.staff.get(f"{service.web.address}/admin/", timeout=60)
        assert (page.status_code, page.headers["Retry-After"]) == (503, "1")
        assert page.headers["Content-Type"].startswith("text/html")
        assert "Error 503" in page.text
        assert service.get("/healthz").response.ok
    finally:
        service.postgres.start()
    back = time.monotonic()
    wait_until(lambda: service.get().response.ok)
    assert time.monotonic() - back < 30  # seconds; psycopg's own pause may be minutes
    wait_until(lambda: {took.response.status_code for took in service.get_many()} == {200})
    wait_until(lambda: service.get("/readyz").response.ok)
    lines = service.web.said()[logged:]
    assert "Traceback" not in lines
    told = [json.loads(line) for line in lines.splitlines() if '"status": 503' in line]
    assert told
    assert all({"requestId", "route"} <= set(line) for line in told)
    assert lines.count("the database does not respond: ") == 1  # with psycopg's reason


def test_a_silent_database_is_reported_by_the_probe_and_delays_requests(service: Service) -> None:
    wait_until(lambda: service.get().response.ok)
    with ThreadPoolExecutor(1) as thread:
        service.halt()
        try:
            waits = thread.submit(service.get)
            assert service.probe() < AT_ONCE
            assert service.get("/healthz").response.ok
        finally:
            service.resume()
        assert waits.result(30).response.status_code in (200, 503)
    wait_until(lambda: service.get("/readyz").response.ok)
    assert service.get().response.ok


def test_a_command_that_starts_during_an_outage_fails_with_the_reason(service: Service) -> None:
    command = [sys.executable, "manage.py", "migrate", "--check"]
    service.postgres.crash()
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=service.web.environment, capture_output=True, text=True
        )
    finally:
        service.postgres.start()
    assert done.returncode == 1
    assert "CommandError: the database does not respond: " in done.stderr
    assert "Traceback" not in done.stderr
