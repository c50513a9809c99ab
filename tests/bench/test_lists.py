"""In a small run of the benchmark of long lists, the number of statements does not grow."""

import pytest

from tests.bench import lists

MOST = 10  # statements per page
ABSURD = 3  # how many times as long all pages together may take with many rows as with few


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_pages_of_ten_thousand_deliveries_cost_little_more_than_those_of_hundreds() -> None:
    figures = lists.measure(0.01, asked=1)
    assert len(figures) > 30
    for name, found in figures.items():
        assert found["statements_many"] <= max(MOST, found["statements_few"]), name
    few, many = (sum(found[side] for found in figures.values()) for side in ("few_s", "many_s"))
    assert many / few < ABSURD
