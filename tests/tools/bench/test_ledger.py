"""A small run of the verify_ledger benchmark works, and is not absurdly slow."""

import pytest

from tests.tools.bench import ledger


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_twenty_thousand_messages_are_checked_in_seconds() -> None:
    figures = ledger.measure(0.02)
    assert figures["ledger_messages"] == 20_000
    assert figures["ledger_seconds"] < 30
