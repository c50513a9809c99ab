"""An API operation runs code from only a few project files, and seldom moves between them."""

from typing import Any, NamedTuple

import pytest

from chatbots.models import Chatbot
from tests.conftest import Api
from tests.contract.operations import BOT, CHAT, OPERATIONS, call, ids_of
from tests.routes import followed


class Bar(NamedTuple):
    """How many project files an API call may enter, and how often it may move between them."""

    files: int
    moves: int


BARS = {
    ("POST", f"{CHAT}/thread/{{thread}}/message"): Bar(27, 51),
    ("PATCH", f"{BOT}/personas/{{persona}}"): Bar(15, 24),
    ("PATCH", f"{CHAT}/thread/{{thread}}/escalate"): Bar(18, 31),
}


@pytest.mark.parametrize("name", BARS, ids=" ".join)
def test_an_operation_runs_code_in_only_a_few_files(
    api: Api, chatbot: Chatbot, name: tuple[str, str]
) -> None:
    [operation] = [each for each in OPERATIONS if (each.method, each.path) == name]
    ids = ids_of(chatbot)
    call(api, operation, ids)  # compile statements and fill caches before measuring
    with followed() as route:
        answer: Any = call(api, operation, ids)
    assert answer.status_code == 200
    bar = BARS[name]
    assert route.files <= bar.files, route.stops
    assert route.moves <= bar.moves, route.stops
