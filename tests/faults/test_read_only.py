"""PostgreSQL refuses writes for a while, like a standby or a server whose disk is full."""

import threading
import time
from collections.abc import Callable, Iterator
from functools import partial

import psycopg
import pytest
import requests
from django.conf import settings

from config.database.claims import LEASE, SETTLED_WITHIN
from tests.groups import needs
from tests.patience import PATIENCE
from tests.servers.behaviors import Arrival, Step, head
from tests.servers.processes import wait_until
from tests.servers.receiver import Receiver
from tests.tools.soak.ground import TIMEOUT, Ground, servers, servers_are_there
from tests.tools.soak.ledger import LEFT_TO_DO

pytestmark = pytest.mark.skipif(settings.EMBEDDED, reason="the embedded default has no server")

END_ALL = """SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()"""
DISK_IS_FULL = """CREATE FUNCTION disk_is_full() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE disk_full USING MESSAGE = 'No space left on device'; END $$"""
ON_EVERY_TABLE = """DO $$ DECLARE name regclass; BEGIN
FOR name IN SELECT oid FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
LOOP EXECUTE format('CREATE TRIGGER disk_is_full BEFORE INSERT OR UPDATE OR DELETE ON %s '
'FOR EACH ROW EXECUTE FUNCTION disk_is_full()', name); END LOOP; END $$"""
PAST_LEASE = TIMEOUT + LEASE.total_seconds() + SETTLED_WITHIN + 2


@pytest.fixture
def ground() -> Iterator[Ground]:
    if not servers_are_there():
        needs("initdb and redis-server")
    with servers() as ground:
        for process in ground.processes:
            process.environment["DJANGO_SETTINGS_MODULE"] = "config.settings"
        yield ground


def tell(ground: Ground, *statements: str) -> None:
    """Run statements in a session that is allowed to write."""
    assert ground.postgres
    with psycopg.connect(ground.postgres.url, autocommit=True) as session:
        session.execute("SET default_transaction_read_only = off")
        for statement in statements:
            session.execute(statement.encode())


def fail_over(ground: Ground) -> None:
    """End all sessions and make new ones read-only, as a failover to a standby does."""
    database = "ALTER DATABASE soak SET default_transaction_read_only = on"
    tell(ground, database, END_ALL)


def promote(ground: Ground) -> None:
    """Make new sessions writable, as a promotion does. Existing sessions stay read-only."""
    tell(ground, "ALTER DATABASE soak RESET default_transaction_read_only")


def refuse_writes(ground: Ground) -> None:
    """Make all sessions read-only, as some cloud providers do when a disk is almost full."""
    server = "ALTER SYSTEM SET default_transaction_read_only = on"
    tell(ground, server, "SELECT pg_reload_conf()")
    # The server signals all existing sessions before it starts the first read-only session.
    wait_until(lambda: new_sessions_are_read_only(ground))


def new_sessions_are_read_only(ground: Ground) -> bool:
    assert ground.postgres
    with psycopg.connect(ground.postgres.url, autocommit=True) as session:
        return session.execute("SHOW default_transaction_read_only").fetchone() == ("on",)


def settling_was_refused(ground: Ground) -> bool:
    return any("is not settled yet" in worker.said() for worker in ground.workers)


def accept_writes(ground: Ground) -> None:
    server = "ALTER SYSTEM RESET default_transaction_read_only"
    tell(ground, server, "SELECT pg_reload_conf()")


def fill_disk(ground: Ground) -> None:
    """Make every write fail with the error of a full disk.

    If the disk were really full, some writes would succeed.
    """
    tell(ground, DISK_IS_FULL, ON_EVERY_TABLE)


def make_space(ground: Ground) -> None:
    tell(ground, "DROP FUNCTION disk_is_full CASCADE")


@pytest.mark.parametrize(
    ("begin", "end", "seconds"),
    [
        pytest.param(fail_over, promote, 0, id="failover"),
        pytest.param(refuse_writes, accept_writes, 0, id="read-only server"),
        pytest.param(fill_disk, make_space, 0, id="full disk"),
        pytest.param(fail_over, promote, PAST_LEASE, id="long failover", marks=pytest.mark.slow),
        pytest.param(
            refuse_writes,
            accept_writes,
            PAST_LEASE,
            id="server that stays read-only",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            fill_disk, make_space, PAST_LEASE, id="long full disk", marks=pytest.mark.slow
        ),
    ],
)
@pytest.mark.proves("Response envelope")
@pytest.mark.proves("Delivery rules")
def test_requests_fail_with_a_503_and_results_are_kept_until_the_database_takes_writes(
    ground: Ground,
    receiver: Receiver,
    begin: Callable[[Ground], None],
    end: Callable[[Ground], None],
    seconds: float,
) -> None:
    ready = threading.Event()

    def take(arrival: Arrival) -> Iterator[Step]:
        ready.wait(PATIENCE)
        yield head(200, length=0)

    receiver.on("/hook", take)
    made = ground.furnish([receiver.url("/hook")])
    for process in ground.processes:
        process.start()
    wait_until(ground.web.answers, told=ground.web.said)
    base = f"{ground.web.address}/api/v1/chatting/{made['chatbots'][0]}"
    ask = partial(requests.request, headers={"Authorization": f"Bearer {made['key']}"}, timeout=30)
    thread = ask("POST", f"{base}/threads", json={}).json()["data"]["thread"]["id"]
    assert ask("PATCH", f"{base}/thread/{thread}/escalate").ok
    receiver.wait_for(1, 30)
    begin(ground)
    ready.set()
    began, writes, reads = time.monotonic(), [], []
    while not writes or time.monotonic() < began + seconds:
        writes.append(ask("POST", f"{base}/threads", json={}))
        reads.append(ask("GET", f"{base}/threads").status_code)
        time.sleep(0.5)
    wait_until(lambda: settling_was_refused(ground))
    end(ground)
    wait_until(lambda: ask("POST", f"{base}/threads", json={}).ok, told=ground.web.said)
    wait_until(lambda: not ground.ledger.number(LEFT_TO_DO), told=ground.workers[0].said)
    assert {(one.status_code, one.headers.get("Retry-After")) for one in writes} == {(503, "1")}
    assert set(reads) <= {200, 503}
    assert [(one.number, one.status) for one in ground.ledger.attempts()] == [(1, "SUCCESS")]
    assert len(receiver.arrivals) == 1
    for process in ground.processes:
        assert "Traceback" not in process.said()
