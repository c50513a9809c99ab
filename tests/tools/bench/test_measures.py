"""Small runs of all delivery engine benchmarks work, and are not absurdly slow.

The ceilings are loose because the machine may be busy. `make bench` gives the real figures.
"""

import pytest

from tests.tools.bench.measures import MEASURES
from tests.tools.bench.sink import Sink

SIZES = {
    "arrival": 0.05,
    "arrival_idle": 0.1,
    "idle": 0.05,
    "throughput": 0.05,
    "fairness": 0.05,
    "retries": 0.05,
    "deadline": 0.1,
}
CEILINGS = {
    "arrival_p50_s": 2.0,
    "idle_cores": 0.5,
    "arrival_idle_p50_s": 2.0,
    "fairness_beside_untried_p99_s": 5.0,
    "fairness_beside_known_p99_s": 5.0,
    "retries_late_p99_s": 5.0,
    "deadline_exceeded_by_s": 5.0,
}


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("name", MEASURES)
def test_a_measure_returns_plausible_figures(name: str) -> None:
    with Sink() as sink:
        figures = MEASURES[name](sink, SIZES[name])
    for key, value in figures.items():
        assert value < CEILINGS.get(key, float("inf")), key
    assert figures.get("retries_earliest_s", 0) >= 0
    assert figures.get("throughput_take_of_plain_pool", 1) > 0.01
