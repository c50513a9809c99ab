"""A thousand hostile requests; `python -m tests.fuzz` sends as many as wanted."""

import random

import pytest

from chatbots.models import Chatbot
from tests.conftest import Api
from tests.contract.operations import OPERATIONS
from tests.fuzzing import Fuzzer
from tests.servers.processes import Web


@pytest.mark.proves("HTTP statuses", "Response envelope", "Bodies")
@pytest.mark.django_db(transaction=True)
def test_whatever_comes_the_answer_is_one_of_the_contract(api: Api, chatbot: Chatbot) -> None:
    seed = random.SystemRandom().randrange(2**32)
    with Web() as web:
        fuzzer = Fuzzer(port=web.port, key=api.key or "", chatbot=chatbot, seed=seed)
        fuzzer.run(1_000)
    assert not fuzzer.faults, (seed, fuzzer.faults[:5])
    assert fuzzer.statuses[200] > 100, (seed, fuzzer.statuses)
    assert len(fuzzer.reached) > len(OPERATIONS) * 0.7, (seed, fuzzer.reached)
