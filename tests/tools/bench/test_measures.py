"""Small runs of the benchmarks work, and their figures are not absurd.

The bounds are loose because the machine may be busy. `make bench` gives the real figures.
"""

from typing import Any

import pytest

from tests.tools.bench import api, measures, replies, scale
from tests.tools.bench.sink import Sink

MEASURES = measures.MEASURES | scale.MEASURES
SIZES = {"arrival_idle": 0.1, "many_endpoints": 0.02}
FLOORS = {
    "retries_earliest_s": 0.0,
    "throughput_take_a_second": 1.0,
    "many_endpoints_ratio": 0.1,
}
CEILINGS = {
    "arrival_p50_s": 2.0,
    "idle_cores": 0.5,
    "arrival_idle_p50_s": 2.0,
    "fairness_beside_untried_p99_s": 5.0,
    "fairness_beside_known_p99_s": 5.0,
    "retries_late_p99_s": 5.0,
}
pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]


@pytest.mark.parametrize("name", MEASURES)
def test_a_measure_of_deliveries_returns_plausible_figures(name: str) -> None:
    with Sink() as sink:
        figures = MEASURES[name](sink, SIZES.get(name, 0.05))
    for key, value in figures.items():
        assert FLOORS.get(key, -1.0) <= value < CEILINGS.get(key, float("inf")), key


def test_the_service_answers_as_its_floor_does() -> None:
    figures = api.measure(0.02)
    assert len(figures) == 6
    for found in figures.values():
        assert 0.001 < found["ratio_least"] <= found["ratio"] <= found["ratio_most"]


def test_reads_are_answered_while_replies_are_in_flight(monkeypatch: Any) -> None:
    monkeypatch.setattr(replies, "MODEL_SECONDS", 1.0)
    assert replies.replies(0.05)["reads_p99_beside_s"] < 5


def test_messages_are_delivered_while_they_are_sent() -> None:
    assert replies.sends(0.1)["sends_a_second"] > 1
