"""Counters of calls, in Redis and in the process's own memory."""

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import redis

from config.api.limits import CHECK, SPARE, OwnCounters, SharedCounters, Window
from tests.config.imported_settings import bare
from tests.house.source import ROOT
from tests.servers.broker import REFUSALS, Broker, Fault

pytestmark = pytest.mark.proves("Limits")

Counters = OwnCounters | SharedCounters
ANY = 2**31  # a limit that no test reaches


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as broker:
        yield broker


@pytest.fixture
def shared(broker: Broker) -> SharedCounters:
    broker.client().flushall()
    return SharedCounters(broker.url, prefix="tests", socket_timeout=5.0)


@pytest.fixture(params=["own", "shared"])
def counters(request: pytest.FixtureRequest) -> Counters:
    return OwnCounters() if request.param == "own" else request.getfixturevalue("shared")


def window(counter: str, calls: int, *, seconds: int = 600) -> Window:
    return Window("any", counter, (calls, seconds), seconds)


@pytest.mark.parametrize(
    ("limits", "steps", "allowed"),
    [
        pytest.param([2], "ttt", [1, 1, 0], id="one limit"),
        pytest.param([2], "tttgt", [1, 1, 0, 1], id="a count that was given back"),
        pytest.param([3, 1], "tttt", [2, 1, 1, 1], id="second limit, which uses none of the first"),
        pytest.param([1, 3], "ttt", [2, 0, 0], id="first limit"),
        pytest.param([2, 2, 1], "tgtgt", [3, 3, 3], id="three limits"),
        pytest.param([0], "t", [0], id="nothing is allowed"),
    ],
)
def test_a_call_is_counted_against_all_limits_or_against_none(
    counters: Counters, limits: list[int], steps: str, allowed: list[int]
) -> None:
    """`t` takes a call, `g` gives one back; `allowed` is the number of limits with room for it."""
    windows = [window(str(number), calls) for number, calls in enumerate(limits)]
    outcomes = []
    for step in steps:
        if step == "t":
            outcomes.append(counters.take(windows))
        else:
            counters.give_back([each.counter for each in windows])
    assert outcomes == allowed


def test_threads_take_exactly_the_allowed_number_of_calls(counters: Counters) -> None:
    windows = [window("first", 500), window("second", 300)]
    with ThreadPoolExecutor(16) as pool:
        allowed = list(pool.map(lambda _: counters.take(windows), range(1_000)))
    assert (allowed.count(2), allowed.count(1)) == (300, 700)
    assert counters.take([window("first", 301)]) == 1, "refused calls use none of the first limit"
    assert counters.take([window("first", 301)]) == 0


COUNT = """
from concurrent.futures import ThreadPoolExecutor
from config.api.limits import SharedCounters, Window
import sys
counters = SharedCounters(sys.argv[1], prefix="tests")
windows = [Window("any", "many", (100, 600), 600)]
with ThreadPoolExecutor(17) as pool:
    print(sum(pool.map(lambda _: counters.take(windows), range(100))))
"""


@pytest.mark.slow
def test_fifty_clients_in_three_processes_take_exactly_the_allowed_number(
    shared: SharedCounters, broker: Broker, tmp_path: Path
) -> None:
    start = [sys.executable, "-c", "import django; django.setup()\n" + COUNT, broker.url]
    known = bare(tmp_path, DJANGO_SETTINGS_MODULE="config.settings")
    running = [
        subprocess.Popen(start, cwd=ROOT, stdout=subprocess.PIPE, env=known) for _ in range(3)
    ]
    assert sum(int(process.communicate(timeout=120)[0]) for process in running) == 100


def test_a_count_that_is_given_back_late_does_not_create_a_counter(counters: Counters) -> None:
    counters.give_back(["late"])
    assert [counters.take([window("late", 1)]) for _ in range(2)] == [1, 0]


def test_a_counter_in_redis_outlives_its_window_only_shortly(
    shared: SharedCounters, broker: Broker
) -> None:
    shared.take([window("kept", 1)])
    [key] = broker.client().scan_iter("tests:*kept")
    assert 600 < broker.client().ttl(key) <= 600 + SPARE


def test_expired_counters_in_memory_are_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1_000.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    counters = OwnCounters()
    counters.take([window("short", ANY, seconds=1), window("long", ANY)])
    now += OwnCounters.SWEEP + 1
    counters.take([window("new", ANY)])
    assert set(counters.values) == {"long", "new"}


def test_all_limits_of_a_call_take_one_round_trip(shared: SharedCounters, broker: Broker) -> None:
    windows = [window(name, ANY) for name in "abc"]
    shared.take(windows)  # opens the connection and loads the script
    server = broker.client()
    before = server.info("stats")["total_reads_processed"]
    for _ in range(10):
        shared.take(windows)
    assert server.info("stats")["total_reads_processed"] - before == 10 + 1  # plus one for `info`


def close_connections(broker: Broker) -> None:
    for connection in broker.client().client_list(_type="normal"):
        broker.client().client_kill_filter(_id=connection["id"])


def restart(broker: Broker) -> None:
    broker.kill()
    broker.start()


@pytest.mark.parametrize(
    "fault",
    [
        close_connections,
        restart,
        lambda broker: broker.client().flushall(),
        lambda broker: broker.client().script_flush(),
    ],
    ids=["idle connections closed", "restarted", "wiped", "scripts forgotten"],
)
def test_the_next_call_is_counted(shared: SharedCounters, broker: Broker, fault: Fault) -> None:
    assert shared.take([window("before", 1)]) == 1
    fault(broker)
    assert [shared.take([window("after", 1)]) for _ in range(2)] == [1, 0]


@pytest.mark.parametrize("refusal", REFUSALS)
def test_a_server_that_refuses_writes_refuses_no_call(
    shared: SharedCounters, broker: Broker, refusal: Fault
) -> None:
    used_up = [window("used up", 1)]
    assert shared.take(used_up) == 1
    with refusal(broker):
        for windows in (used_up, [CHECK]):
            with pytest.raises(redis.ResponseError):
                shared.take(windows)
    assert shared.take([CHECK]) == 1
