"""Send a thousand hostile requests, drawn with a fixed seed. `make fuzz` uses a random seed."""

import pytest

from chatbots.models import Chatbot
from tests.contract.operations import OPERATIONS
from tests.tools.fuzz.fuzzer import fuzz


@pytest.mark.proves("HTTP statuses", "Response envelope", "Bodies")
@pytest.mark.django_db(transaction=True)
def test_hostile_requests_get_only_documented_responses(chatbot: Chatbot) -> None:
    fuzzer = fuzz(chatbot, count=1_000, seed=1)
    assert not fuzzer.faults, fuzzer.faults[:5]
    assert fuzzer.statuses[200] > 100, fuzzer.statuses
    assert len(fuzzer.reached) > len(OPERATIONS) * 0.7, fuzzer.reached
