"""A small run of the search benchmark works, and no search is absurdly slow."""

import pytest

from tests.tools.bench import search


@pytest.mark.django_db(transaction=True)
def test_a_search_among_a_thousand_messages_is_fast() -> None:
    figures = search.measure(0.001)
    assert figures["search_p95_ms"] < 500
