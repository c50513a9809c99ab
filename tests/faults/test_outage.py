"""PostgreSQL stops or hangs, and later recovers. The tests start their own server."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, NamedTuple

import psycopg
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

AT_ONCE = 40  # number of concurrent requests; far exceeds the size of the connection pool
GIVEN_UP = 2.0  # maximum response time of a request, in seconds
PROBED = 1.0  # maximum time until /readyz reports the outage, in seconds
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
        with ThreadPoolExecutor(AT_ONCE) as threads:
            return list(threads.map(lambda _: self.get(), range(AT_ONCE)))

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


@pytest.mark.parametrize(
    ("leave", "come_back"),
    [
        pytest.param(lambda it: it.postgres.crash(), lambda it: it.postgres.start(), id="crashed"),
        pytest.param(Service.halt, Service.resume, id="silent"),
    ],
)
def test_an_unreachable_database_is_reported_immediately_and_logged_once_a_second(
    service: Service, leave: Callable[[Service], None], come_back: Callable[[Service], None]
) -> None:
    wait_until(lambda: service.get().response.ok)
    assert {took.response.status_code for took in service.get_many()} == {200}  # fills the pool
    logged, began = len(service.web.said()), time.monotonic()
    leave(service)
    try:
        ready = service.get("/readyz")
        assert (ready.response.status_code, ready.seconds < PROBED) == (503, True), ready
        for _ in range(2):
            answers = service.get_many()
            assert {took.response.status_code for took in answers} == {503}
            assert max(took.seconds for took in answers) < GIVEN_UP
        assert answers[0].response.json() == {"success": False, "message": "service unavailable"}
        assert answers[0].response.headers["Retry-After"] == "1"
        page = service.staff.get(f"{service.web.address}/admin/", timeout=60)
        assert (page.status_code, page.headers["Retry-After"]) == (503, "1")
        assert page.headers["Content-Type"].startswith("text/html")
        assert "Error 503" in page.text
        assert service.get("/healthz").response.ok
        seconds = time.monotonic() - began
    finally:
        come_back(service)
    back = time.monotonic()
    wait_until(lambda: service.get().response.ok)
    assert time.monotonic() - back < 10
    assert {took.response.status_code for took in service.get_many()} == {200}
    lines = service.web.said()[logged:]
    assert "Traceback" not in lines
    told = [json.loads(line) for line in lines.splitlines() if '"status": 503' in line]
    assert 1 <= len(told) <= seconds + 2
    assert all({"requestId", "route"} <= set(line) for line in told)
    assert lines.count("the database does not respond: ") == 1  # with psycopg's reason


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


@contextmanager
def slow_keys(session: psycopg.Connection[Any]) -> Iterator[None]:
    """Make the database take ten seconds to record the API key's next use."""
    session.execute("UPDATE accounts_apikey SET last_used_at = NULL")
    session.execute(
        "CREATE FUNCTION be_slow() RETURNS trigger LANGUAGE plpgsql"
        " AS 'BEGIN PERFORM pg_sleep(10); RETURN NULL; END'"
    )
    session.execute(
        "CREATE TRIGGER slow AFTER UPDATE ON accounts_apikey EXECUTE FUNCTION be_slow()"
    )
    try:
        yield
    finally:
        session.execute("DROP FUNCTION be_slow CASCADE")


def test_a_request_that_waits_for_a_silent_database_is_answered(service: Service) -> None:
    wait_until(lambda: service.get().response.ok)
    with (
        psycopg.connect(service.postgres.url, autocommit=True) as other,
        ThreadPoolExecutor(1) as thread,
        slow_keys(other),
    ):
        waits = thread.submit(service.get)
        sleeps = b"SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
        wait_until(lambda: other.execute(sleeps).fetchone())
        service.halt()
        try:
            assert service.get("/readyz").response.status_code == 503
            assert waits.result(30).response.status_code == 503
        finally:
            service.resume()
