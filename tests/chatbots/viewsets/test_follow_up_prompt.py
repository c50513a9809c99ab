"""A follow-up prompt has exactly one complete pair of fields: the button's or the link's."""

from typing import Any

import pytest

from chatbots.models import Chatbot, FollowUpPrompt
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
