"""Every benchmark of delivery at scale runs at a small size and returns plausible figures."""

import pytest

from tests.tools.bench import replies
from tests.tools.bench.scale import MEASURES
from tests.tools.bench.sink import Sink

SIZES = {"stale_statistics": 0.1}
SIZE = 0.02
FLOORS = {"many_endpoints_ratio": 0.1, "slow_endpoints_ratio": 0.2, "stale_3000_ratio": 0.1}
CEILINGS = {
    "claim_ratio": 10.0,
    "one_endpoint_last_p50_s": 10.0,
    "arrival_beside_sends_p99_s": 10.0,
}


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("name", MEASURES)
def test_a_measure_of_scale_returns_plausible_figures(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replies, "MODEL_SECONDS", 1.0)
    with Sink() as sink:
        figures = MEASURES[name](sink, SIZES.get(name, SIZE))
    for key, value in figures.items():
        assert FLOORS.get(key, 0.0) <= value < CEILINGS.get(key, float("inf")), key
