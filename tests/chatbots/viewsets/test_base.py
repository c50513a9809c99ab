"""Rules for every operation on a chatbot: who may call it, and which error comes first."""

import uuid
from typing import Any

import pytest

from chatbots.models import Chatbot
from tests.conftest import Api
from tests.factories.chatbots import (
    FollowUpPromptFactory,
    InstructionFactory,
    LeadSettingsFactory,
    PersonaFactory,
)

pytestmark = pytest.mark.proves("Authentication")

V0, V1 = "/v0/chatbots/chatbot/{chatbot}", "/v1/chatbots/chatbot/{chatbot}"
BUTTON = {"buttonTitle": "a", "buttonMessage": "b"}
OPERATIONS: list[tuple[str, str, Any]] = [
    ("GET", f"{V1}/appearance", None),
    ("PUT", f"{V1}/appearance", {}),
    ("GET", f"{V1}/localization", None),
    ("PATCH", f"{V1}/follow-up-prompts/{{prompt}}", BUTTON),
    ("POST", f"{V1}/instructions", {"title": "a", "instruction": "b"}),
    ("PATCH", f"{V1}/instructions/{{instruction}}", {}),
    ("POST", f"{V1}/instructions/select-instruction", {"title": "a", "instruction": "b"}),
    ("PATCH", f"{V1}/personas/{{persona}}", {}),
    ("POST", f"{V1}/lead-settings", {}),
    ("GET", f"{V1}/lead-settings", None),
    ("DELETE", f"{V1}/lead-settings", None),
    ("POST", f"{V1}/conversation-starters", {}),
    ("PUT", f"{V1}/settings", {}),
    ("PATCH", f"{V0}/settings/general", {}),
    ("PATCH", f"{V0}/settings/user-data", {}),
]
every_operation = pytest.mark.parametrize(
    ("method", "path", "body"), OPERATIONS, ids=lambda value: value if value in ("GET",) else None
)
BELOW = [
    ("follow-up-prompts", {"buttonTitle": 5}, BUTTON),
    ("instructions", {"title": 5}, {}),
    ("personas", {"title": 5}, {}),
]


@pytest.fixture
def ids(chatbot: Chatbot) -> dict[str, Any]:
    """Create one row of each kind. Returns the ids, keyed by the placeholders in the paths."""
    LeadSettingsFactory(chatbot=chatbot)
    return {
        "chatbot": chatbot.pk,
        "prompt": FollowUpPromptFactory(chatbot=chatbot).pk,
        "instruction": InstructionFactory(chatbot=chatbot).pk,
        "persona": PersonaFactory(chatbot=chatbot).pk,
    }


@pytest.mark.proves("HTTP statuses/404", "Codes/CHATBOT_NOT_FOUND")
@every_operation
@pytest.mark.parametrize("chatbot_id", ["0190a000-0000-7000-8000-000000000000", "nonsense", "1"])
def test_an_unknown_chatbot_is_a_404_before_the_body_is_read(
    api: Api, ids: dict[str, Any], method: str, path: str, body: Any, chatbot_id: Any
) -> None:
    there = path.format(**ids | {"chatbot": chatbot_id})
    answer = api.call(method, there, None if body is None else b"[")
    assert (answer.status_code, answer.json()["code"]) == (404, "CHATBOT_NOT_FOUND")


@every_operation
def test_a_foreign_chatbot_is_a_403_before_the_body_is_read(
    stranger: Api, ids: dict[str, Any], method: str, path: str, body: Any
) -> None:
    answer = stranger.call(method, path.format(**ids), None if body is None else b"[")
    assert answer.status_code == 403


@pytest.mark.proves("HTTP statuses/400", "Codes/REQUEST_VALIDATION_FAILED")
@every_operation
def test_a_body_must_be_an_object(
    api: Api, ids: dict[str, Any], method: str, path: str, body: Any
) -> None:
    if body is None:
        return
    for raw in (b"[]", b"5", b'"x"', b"null", b"{"):
        answer = api.call(method, path.format(**ids), raw)
        assert (answer.status_code, answer.json()["code"]) == (400, "REQUEST_VALIDATION_FAILED")


@pytest.mark.parametrize(("kind", "bad", "good"), BELOW)
def test_the_body_is_checked_before_the_rest_of_the_path(
    api: Api, here: str, kind: str, bad: Any, good: Any
) -> None:
    there = f"{here}/{kind}/{uuid.uuid4()}"
    assert api.patch(there, bad).status_code == 400
    assert api.patch(there, good).status_code == 404


@pytest.mark.parametrize(("kind", "bad", "good"), BELOW)
def test_missing_malformed_and_foreign_ids_get_the_same_response(
    api: Api, here: str, kind: str, bad: Any, good: Any
) -> None:
    foreign = {
        "follow-up-prompts": FollowUpPromptFactory,
        "instructions": InstructionFactory,
        "personas": PersonaFactory,
    }[kind]()
    answers = [
        api.patch(f"{here}/{kind}/{key}", good) for key in (uuid.uuid4(), "nonsense", foreign.pk)
    ]
    assert [answer.status_code for answer in answers] == [404] * 3
    assert len({answer.content for answer in answers}) == 1
    assert answers[0].json() == {"success": False, "message": answers[0].json()["message"]}
