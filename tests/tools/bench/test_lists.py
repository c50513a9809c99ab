"""In a small run of the benchmark, pages cost little more with many rows than with few."""

import pytest

from tests.tools.bench import lists

MOST = 10  # SQL statements per page
ABSURD = 3  # maximum ratio of the time with many rows to the time with few


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_pages_with_10_000_deliveries_cost_little_more_than_with_500() -> None:
    figures = lists.measure(0.01, asked=1)
    assert len(figures) > 30
    for name, found in figures.items():
        assert found["statements_many"] <= max(MOST, found["statements_few"]), name
    few, many = (sum(found[side] for found in figures.values()) for side in ("few_s", "many_s"))
    assert many / few < ABSURD
