"""The measure of the delivery log, at a small size: no filter reads more as the log grows."""

import pytest

from tests.bench import lists

MOST = 10  # statements of a page
ABSURD = 3  # times as long for all pages together, on a busy machine


@pytest.mark.django_db(transaction=True)
def test_pages_of_ten_thousand_deliveries_cost_as_much_as_those_of_hundreds() -> None:
    figures = lists.measure(0.01, asked=1)
    assert len(figures) > 30
    for name, found in figures.items():
        assert found["statements_many"] <= max(MOST, found["statements_few"]), name
    few, many = (sum(found[side] for found in figures.values()) for side in ("few_s", "many_s"))
    assert many / few < ABSURD
