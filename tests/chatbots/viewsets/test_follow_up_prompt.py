from itertools import product
from typing import Any

import pytest

from chatbots.models import Chatbot, FollowUpPrompt
from tests.chatbots.conftest import stored
from tests.chatbots.shapes import FOLLOW_UP_PROMPT, check
from tests.conftest import Api
from tests.factories.chatbots import FollowUpPromptFactory
from tests.fields import FLAG, Kind, check_fields

pytestmark = pytest.mark.proves("Follow-up prompts", "Follow-up prompt")

BUTTON, LINK = ("buttonTitle", "buttonMessage"), ("linkText", "linkSrc")
BOTH = "Cannot provide both button fields and link fields"
NEITHER = "Must provide either (buttonTitle + buttonMessage) or (linkText + linkSrc)"
ABSENT = object()


def short(most: int) -> Kind:
    """A text of a pair. If it is empty or null, the pair is incomplete, which is another error."""
    return Kind(["x ✓", "😀" * most], [5, True, [], {}, "x" * (most + 1)])


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
@pytest.mark.parametrize("other", [{}, "", None])
def test_a_pair_sets_the_type_and_clears_the_other_pair(
    api: Api, there: str, prompt: FollowUpPrompt, pair: tuple[str, str], other: Any
) -> None:
    texts = dict.fromkeys((*BUTTON, *LINK), "") | {pair[0]: " first ✓", pair[1]: "second"}
    body = {name: texts[name] for name in pair}
    if other != {}:
        body |= dict.fromkeys(LINK if pair is BUTTON else BUTTON, other)
    answer = api.patch(there, body)
    assert answer.status_code == 200
    assert answer.json()["message"] == "follow-up prompt updated successfully"
    record = answer.json()["data"]
    check(record, FOLLOW_UP_PROMPT)
    assert {name: record[name] for name in texts} == texts
    assert (record["id"], record["chatbotId"]) == (str(prompt.pk), str(prompt.chatbot_id))
    assert record["rank"] == 3
    row = stored(prompt)
    kept = (row["button_title"], row["button_message"], row["link_text"], row["link_src"])
    assert kept == tuple(texts.values())


@pytest.mark.parametrize(("given_", "becomes"), [(ABSENT, False), (False, False), (True, True)])
def test_esclate_is_false_by_default(api: Api, there: str, given_: Any, becomes: bool) -> None:
    body = dict.fromkeys(BUTTON, "x") | ({} if given_ is ABSENT else {"esclate": given_})
    assert api.patch(there, body).json()["data"]["esclate"] is becomes


def verdict(values: tuple[Any, ...]) -> str | None:
    """Return the expected error message for the four values, or None if they are valid."""
    present = [value not in (ABSENT, "", None) for value in values]
    if any(present[:2]) and any(present[2:]):
        return BOTH
    return None if all(present[:2]) or all(present[2:]) else NEITHER


@pytest.mark.proves("Follow-up prompts/1", "Follow-up prompts/2", "Follow-up prompts/3")
def test_every_combination_of_present_and_absent_fields_follows_the_rules(
    api: Api, there: str
) -> None:
    seen = set()
    for values in product(("x", "", None, ABSENT), repeat=4):
        pairs = zip((*BUTTON, *LINK), values, strict=True)
        answer = api.patch(there, {name: value for name, value in pairs if value is not ABSENT})
        expected = verdict(values)
        seen.add(expected)
        if expected is None:
            assert answer.status_code == 200, values
        else:
            assert answer.status_code == 400, values
            assert answer.json() == {
                "success": False,
                "message": expected,
                "code": "REQUEST_VALIDATION_FAILED",
            }
    assert seen == {None, BOTH, NEITHER}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param({"buttonTitle": " ", "buttonMessage": "x"}, NEITHER, id="blank title"),
        pytest.param({"linkText": "x", "linkSrc": "\n"}, NEITHER, id="blank address"),
        pytest.param(
            {"buttonTitle": " ", "linkText": "x", "linkSrc": "x"}, BOTH, id="blank title and a link"
        ),
    ],
)
def test_a_blank_text_does_not_complete_a_pair(
    api: Api, there: str, body: Any, message: str
) -> None:
    answer = api.patch(there, body)
    assert (answer.status_code, answer.json()["message"]) == (400, message)


KINDS = {
    BUTTON: {"buttonTitle": short(255), "buttonMessage": short(65_535), "esclate": FLAG},
    LINK: {"linkText": short(255), "linkSrc": short(255), "esclate": FLAG},
}


@pytest.mark.parametrize("pair", [BUTTON, LINK])
def test_every_field_is_checked_and_stored(
    api: Api, there: str, prompt: FollowUpPrompt, pair: tuple[str, str]
) -> None:
    check_fields(api.patch, there, KINDS[pair], lambda: stored(prompt))
