"""Expiring counters, in Redis and in the process's own memory."""

import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import redis

from config.api.limits import OwnCounters, SharedCounters
from tests.config.imported_settings import bare
from tests.house.source import ROOT
from tests.servers.broker import REFUSALS, Broker, Fault
from tests.servers.processes import wait_until

pytestmark = pytest.mark.proves("Limits")

Counters = OwnCounters | SharedCounters


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as broker:
        yield broker


@pytest.fixture
def shared(broker: Broker) -> SharedCounters:
    return SharedCounters(broker.url, prefix="tests", socket_timeout=5.0)


@pytest.fixture(params=["own", "shared"])
def counters(request: pytest.FixtureRequest) -> Counters:
    return OwnCounters() if request.param == "own" else request.getfixturevalue("shared")


def add(counters: Counters, name: str, amount: int, *, seconds: int) -> int:
    [value] = counters.add_each([(name, amount, seconds)])
    return value


class SlowlyRead(dict[str, int]):
    """A dict that lets other threads run between reading and writing a value."""

    def get(self, name: str, default: Any = None) -> Any:
        value = super().get(name, default)
        time.sleep(0.0001)
        return value


def test_threads_count_every_call_once(counters: Counters) -> None:
    if isinstance(counters, OwnCounters):
        counters.values = SlowlyRead()

    def count(_: int) -> int:
        return add(counters, "threads", 1, seconds=600)

    with ThreadPoolExecutor(16) as pool:
        assert sorted(pool.map(count, range(1_000))) == list(range(1, 1_001))


def test_a_count_can_be_undone(counters: Counters) -> None:
    amounts = (1, 1, -1, 1)
    values = [add(counters, "given-back", amount, seconds=600) for amount in amounts]
    assert values == [1, 2, 1, 2]
    assert add(counters, "another", 1, seconds=600) == 1


def test_a_counter_expires_even_if_it_is_still_in_use(counters: Counters) -> None:
    assert add(counters, "short", 1, seconds=1) == 1
    wait_until(lambda: add(counters, "short", 1, seconds=1) == 1)


def test_a_count_that_is_undone_late_creates_a_counter_that_expires(
    shared: SharedCounters, broker: Broker
) -> None:
    assert add(shared, "late", -1, seconds=600) == -1
    server = redis.Redis.from_url(broker.url)
    [key] = server.scan_iter("tests:*late")
    assert 0 < server.ttl(key) <= 600


def test_counters_in_memory_are_bounded_and_those_that_expire_first_are_dropped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(OwnCounters, "MOST", 3)
    counters = OwnCounters()
    for name, seconds in (("long", 600), ("short", 60), ("medium", 300), ("new", 600)):
        add(counters, name, 1, seconds=seconds)
    assert set(counters.values) == {"long", "medium", "new"}
    assert len(counters.ends) == 3


def test_a_shared_count_takes_one_round_trip(shared: SharedCounters, broker: Broker) -> None:
    add(shared, "trips", 1, seconds=600)  # opens the connection
    server = redis.Redis.from_url(broker.url)
    before = server.info("stats")["total_reads_processed"]
    for _ in range(10):
        add(shared, "trips", 1, seconds=600)
    assert server.info("stats")["total_reads_processed"] - before == 10 + 1  # plus one for `info`


def test_a_connection_that_was_closed_while_idle_is_replaced(
    shared: SharedCounters, broker: Broker
) -> None:
    shared.check()
    broker.kill()
    with pytest.raises(redis.ConnectionError):
        shared.check()
    broker.start()
    for _ in range(2):
        shared.check()
        for connection in redis.Redis.from_url(broker.url).client_list(_type="normal"):
            redis.Redis.from_url(broker.url).client_kill_filter(_id=connection["id"])
    assert add(shared, "again", 1, seconds=600) == 1
    assert len(shared.idle) == 1


def test_an_error_reply_is_never_read_as_the_reply_to_the_next_command(
    shared: SharedCounters, broker: Broker
) -> None:
    redis.Redis.from_url(broker.url).lpush("tests:count:list", "not a number")
    with pytest.raises(redis.ResponseError):
        add(shared, "list", 1, seconds=600)
    assert add(shared, "after", 1, seconds=600) == 1


@pytest.mark.parametrize("refusal", REFUSALS)
def test_a_check_fails_while_redis_answers_but_refuses_writes(
    shared: SharedCounters, broker: Broker, refusal: Fault
) -> None:
    shared.check()
    with refusal(broker), pytest.raises(redis.ResponseError):
        shared.check()
    shared.check()


@pytest.mark.slow
def test_a_process_without_redis_does_not_load_its_library(tmp_path: Path) -> None:
    script = "import config.rsgi, sys; print('redis' in sys.modules)"
    known = {"DJANGO_SETTINGS_MODULE": "config.settings"}
    for address, loaded in (("", False), ("redis://127.0.0.1:1/0", True)):
        done = subprocess.run(
            [sys.executable, "-c", script],
            cwd=ROOT,
            env=bare(tmp_path, REDIS_URL=address, **known),
            capture_output=True,
            text=True,
        )
        assert done.stdout == f"{loaded}\n", done.stderr
