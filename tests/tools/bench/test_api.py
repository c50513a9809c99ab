"""The six requests of the API benchmark do not use too much CPU time.

The requests are sent to the application in this process. The CPU time of a request is divided by
that of a plain Python loop, which runs between the requests. A slow or busy machine therefore
affects the request and the loop alike. `make bench ARGS=api` compares the service's speed with that
of the floor, a minimal implementation of the API.
"""

import time
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from tests.conftest import Api
from tests.tools.bench import api, rows
from tests.tools.bench.api import Call
from tests.tools.bench.rows import Rows

# A request may cost up to this many times its figure in REACHED, because the figures depend on the
# machine.
LOOSE = 3.0
REPEATS, EACH = 8, 5

# The cost of each request as a multiple of the cost of `loop`, on PostgreSQL and on SQLite. Lower
# these figures when the code gets faster.
REACHED = {
    "GET history": (1.7, 0.6),
    "GET threads": (2.2, 0.8),
    "GET my-chatbots": (1.2, 0.4),
    "GET lead-settings": (0.8, 0.4),
    "PATCH chatbot": (2.6, 0.7),
    "POST message": (5.2, 4.3),
}


def loop() -> None:
    """Run about a millisecond of plain Python."""
    for number in range(130):
        fields = {f"field_{each}": number * each for each in range(20)}
        ",".join(f"{name}={value}" for name, value in sorted(fields.items()))


def cpu(run: Callable[[], object]) -> float:
    """Return the processor time of the fastest of several runs, in seconds."""
    least = float("inf")
    for _ in range(EACH):
        began = time.process_time()
        run()
        least = min(least, time.process_time() - began)
    return least


def request(caller: Api, call: Call) -> None:
    """Send a request to the application in this process. Asserts that it succeeds."""
    answer = caller.call(call.method, call.paths[0], call.body)
    assert answer.status_code == 200, answer.content


@pytest.fixture
def made(db: None, settings: Any) -> Rows:
    settings.RATE_LIMIT_IP, settings.RATE_LIMIT_USER = (999_999_999, 1), (999_999_999, 60)
    return rows.make(connections=1)


@pytest.mark.parametrize("name", REACHED)
def test_a_request_costs_at_most_three_times_its_recorded_cost(made: Rows, name: str) -> None:
    [call] = [each for each in api.calls(made) if each.name == name]
    caller = Api(made.key)
    with api.quiet():
        request(caller, call)
        costs = [(cpu(lambda: request(caller, call)), cpu(loop)) for _ in range(REPEATS)]
    cost = min(requests for requests, _ in costs) / min(loops for _, loops in costs)
    reached = REACHED[name][connection.vendor == "sqlite"]
    assert cost <= LOOSE * reached, f"{cost:.1f} loops"


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_the_service_answers_as_its_floor_does() -> None:
    figures = api.measure(0.02)
    assert set(figures) == set(REACHED)
    for found in figures.values():
        assert 0.001 < found["ratio_least"] <= found["ratio"] <= found["ratio_most"]
    # The kernel counts CPU time in steps of 10 ms, about as much as a few requests use. Only sums
    # over all requests are precise enough to compare.
    load, service = (
        sum(found[name] for found in figures.values()) for name in ("load_cpu_ms", "service_cpu_ms")
    )
    assert load < service
