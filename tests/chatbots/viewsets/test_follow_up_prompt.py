"""A follow-up prompt has exactly one complete pair of fields: the button's or the link's."""

from itertools import product
from typing import Any

import pytest

from chatbots.models import Chatbot, FollowUpPrompt
from chatbots.models.follow_up_prompt import one_pair
from config.api.errors import Refused
from tests.conftest import Api
from tests.factories.chatbots import FollowUpPromptFactory

pytestmark = pytest.mark.proves("Follow-up prompts", "Follow-up prompt")

COLUMNS = ("button_title", "button_message", "link_text", "link_src")
BUTTON, LINK = ("buttonTitle", "buttonMessage"), ("linkText", "linkSrc")
BOTH = "Cannot provide both button fields and link fields"
NEITHER = "Must provide either (buttonTitle + buttonMessage) or (linkText + linkSrc)"
ABSENT = object()


@pytest.fixture
def prompt(chatbot: Chatbot) -> FollowUpPrompt:
    return FollowUpPromptFactory(
        chatbot=chatbot, rank=3, esclate=True, button_title="old", button_message="old message"
    )


@pytest.fixture
def there(here: str, prompt: FollowUpPrompt) -> str:
    return f"{here}/follow-up-prompts/{prompt.pk}"


@pytest.mark.proves(
    "Follow-up prompts/4", "Follow-up prompt/record", "States and transitions/Follow-up prompt type"
)
@pytest.mark.parametrize("pair", [BUTTON, LINK])
@pytest.mark.parametrize("other", [ABSENT, "", None])
def test_a_pair_sets_the_type_and_clears_the_other_pair(
    api: Api, there: str, prompt: FollowUpPrompt, pair: tuple[str, str], other: Any
) -> None:
    texts = dict.fromkeys((*BUTTON, *LINK), "") | {pair[0]: " first ✓", pair[1]: "second"}
    body = {name: texts[name] for name in pair}
    if other is not ABSENT:
        body |= dict.fromkeys(LINK if pair is BUTTON else BUTTON, other)
    record = api.patch(there, body).json()["data"]
    assert {name: record[name] for name in texts} == texts
    assert (record["rank"], record["esclate"]) == (3, False)
    prompt.refresh_from_db()
    assert [getattr(prompt, name) for name in COLUMNS] == list(texts.values())


def verdict(values: tuple[Any, ...]) -> str | None:
    """Return the expected error message for the four values, or None if they are valid."""
    present = [value not in (ABSENT, "", None) for value in values]
    if any(present[:2]) and any(present[2:]):
        return BOTH
    complete = [value == "x" for value in values]
    return None if all(complete[:2]) or all(complete[2:]) else NEITHER


@pytest.mark.proves("Follow-up prompts/1", "Follow-up prompts/2", "Follow-up prompts/3")
def test_every_combination_of_present_blank_and_absent_fields_follows_the_rules() -> None:
    seen = set()
    for values in product(("x", " ", "", None, ABSENT), repeat=4):
        pairs = zip(COLUMNS, values, strict=True)
        given = {name: value for name, value in pairs if value is not ABSENT}
        seen.add(expected := verdict(values))
        if expected is None:
            assert one_pair(given) == dict.fromkeys(COLUMNS, "") | {
                name: "x" for name, value in given.items() if value == "x"
            }
            continue
        with pytest.raises(Refused) as refusal:
            one_pair(given)
        assert refusal.value.message == expected
    assert seen == {None, BOTH, NEITHER}


@pytest.mark.proves("Follow-up prompts/1", "Follow-up prompts/2", "Follow-up prompts/3")
@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, NEITHER),
        ({"buttonTitle": " ", "buttonMessage": "x"}, NEITHER),
        ({"linkText": "x", "linkSrc": None}, NEITHER),
        (dict.fromkeys((*BUTTON, *LINK), "x"), BOTH),
        ({"buttonTitle": " ", "linkText": "x", "linkSrc": "x"}, BOTH),
    ],
)
def test_another_combination_is_a_400(api: Api, there: str, body: Any, message: str) -> None:
    answer = api.patch(there, body)
    assert (answer.status_code, answer.json()) == (
        400,
        {"success": False, "message": message, "code": "REQUEST_VALIDATION_FAILED"},
    )
