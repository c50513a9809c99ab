"""A follow-up prompt has exactly one complete pair of fields: the button's or the link's."""

from typing import Any

import pytest

from chatbots.models.follow_up_prompt import BOTH, BUTTON, LINK, NEITHER, one_pair
from config.api.errors import Refused

pytestmark = pytest.mark.proves("Follow-up prompts")

EMPTY = dict.fromkeys((*BUTTON, *LINK), "")
BUTTON_TEXTS = {"button_title": " Talk ", "button_message": "To a person"}
LINK_TEXTS = {"link_text": "Home", "link_src": "https://example.com"}


@pytest.mark.parametrize(
    "given",
    [
        BUTTON_TEXTS,
        LINK_TEXTS,
        BUTTON_TEXTS | {"link_text": None, "link_src": ""},
        LINK_TEXTS | {"button_title": "", "button_message": None, "rank": 1},
    ],
)
def test_a_complete_pair_is_kept_and_the_other_one_cleared(given: dict[str, Any]) -> None:
    pair = {name: text for name, text in given.items() if name in EMPTY and text}
    assert one_pair(given) == EMPTY | pair


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (BUTTON_TEXTS | LINK_TEXTS, BOTH),
        (BUTTON_TEXTS | {"link_text": " "}, BOTH),
        ({}, NEITHER),
        (BUTTON_TEXTS | {"button_message": " "}, NEITHER),
        ({"link_text": "Home"}, NEITHER),
    ],
)
def test_any_other_combination_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(Refused) as refusal:
        one_pair(given)
    assert refusal.value.message == message
