"""Rules for every body about a chatbot: who may send it, its fields, and what it changes."""

import re
import uuid
from functools import partial

import orjson
import pytest

from chatbots.models import Chatbot
from tests.chatbots.conftest import FORM_FIELD
from tests.conftest import Api
from tests.contract.operations import ACCOUNT, BOT, BOT_V0, OPERATIONS, Operation, all_rows, ids_of
from tests.fields import (
    COLOR,
    COUNT,
    FLAG,
    OBJECT,
    SHARE,
    Body,
    Kind,
    check_fields,
    choice,
    name,
    nullable,
    text,
)
from tests.house.source import ROOT

Fields = dict[str, Kind]
BODIES = [operation for operation in OPERATIONS if operation.body and "chatbots" in operation.path]
SHORT, LONG = text(255), text(65_535)


def short(most: int) -> Kind:
    """A text of a pair. If it is empty or null, the pair is incomplete, which is another error."""
    return Kind(["x ✓", "😀" * most], [5, True, [], {}, "x" * (most + 1)])


def each(names: str, kind: Kind) -> Fields:
    return dict.fromkeys(names.split(), kind)


APPEARANCE: Fields = {
    **each("tooltip inputPlaceholderText externalLink iconSize iconPosition iconShape", SHORT),
    **each("defaultMode watermarkBrandIcon watermarkBrandText watermarkBrandLink", SHORT),
    **each("botIconSrc userIconSrc agentIconSrc bubbleIconSrc", SHORT),
    **each("brandPrimaryColor brandTextColor brandIconBgColor linkColor", COLOR),
    **each("showBackground watermarkBrandInfoShow hideWatermarkService", FLAG),
    **each("rightToLeftMode enableDarkMode", FLAG),
    **each("fontSize chatHeight distanceFromBottomDesktop horizontalDistanceDesktop", COUNT),
    **each("distanceFromBottomMobile horizontalDistanceMobile", COUNT),
    "welcomeMessage": LONG,
    "fontFamily": Kind(
        [*OBJECT.right, {"n": 10**30}, {"n": -(2**63) - 1}, {"n": 1e300}, {"n": 5e-324}],
        OBJECT.wrong,
    ),
}
INSTRUCTION: Fields = {
    "title": name(100),
    "instruction": name(65_535),
    "creativityLevel": SHARE,
    **each("deletable isActive", FLAG),
}
USER_DATA = each("enableLeadCollection customerNameTake customerPhoneTake customerEmailTake", FLAG)
WHEN: Fields = {"whenUserShareDetails": choice("mandatory", "optional", "do_not_collect")}
LEAD: Fields = {
    **USER_DATA,
    **each("bookingIntegration leadNotification autoEscalateOnLeadCapture", FLAG),
    **each("industryTemplate whenToCollectLead bookingIntegrationLink", SHORT),
    "customerTriggerKeywords": LONG,
    "leadNotificationEmail": Kind([[], ["a@example.com"] * 50], ["x", 5, True, None, {}]),
    "customerFormField": Kind([[], [FORM_FIELD] * 50], ["x", 5, None, {}, [FORM_FIELD] * 51]),
}
SWITCH = "limitMessagesPerConversation"
LIMITED = {SWITCH: True}
GENERAL: Fields = {
    **each("disableSmartFollowup enablePageContextAwareness", FLAG),
    **each("numberOfSmartFollowupQuestionShown historyMessageContext", COUNT),
    **each("description fallbackMessage", LONG),
}
LIMIT: Fields = GENERAL | {"maxMessagesPerConversation": COUNT}
PROMPT = f"{BOT}/follow-up-prompts/{{follow_up_prompt}}"
TABLE: list[tuple[str, str, Fields, Body]] = [
    ("POST", f"{ACCOUNT}/create-chatbot", {"name": name(255), "description": name(50)}, {}),
    (
        "PATCH",
        f"{ACCOUNT}/chatbot/{{chatbot}}",
        {"name": name(255), "description": text(100), "isActive": FLAG},
        {},
    ),
    ("PUT", f"{BOT}/appearance", APPEARANCE, {}),
    ("PATCH", PROMPT, {"buttonTitle": short(255), "buttonMessage": short(65_535)}, {}),
    ("PATCH", PROMPT, {"linkText": short(255), "linkSrc": short(255), "esclate": FLAG}, {}),
    ("POST", f"{BOT}/instructions", INSTRUCTION, {}),
    ("PATCH", f"{BOT}/instructions/{{instruction}}", INSTRUCTION, {}),
    (
        "PATCH",
        f"{BOT}/personas/{{persona}}",
        {
            "title": name(50),
            "description": nullable(LONG),
            "instructions": LONG,
            "creativityLevel": SHARE,
        },
        {},
    ),
    ("POST", f"{BOT}/lead-settings", LEAD, {}),
    ("PATCH", f"{BOT_V0}/settings/general", LIMIT, LIMITED),
    ("PATCH", f"{BOT_V0}/settings/general", {SWITCH: FLAG}, {}),
    ("PATCH", f"{BOT_V0}/settings/user-data", USER_DATA | WHEN, {}),
    ("PUT", f"{BOT}/settings", LIMIT | USER_DATA | WHEN, LIMITED),
    ("PUT", f"{BOT}/settings", {SWITCH: FLAG}, {}),
]
# Bodies and fields with tests of their own
ELSEWHERE = {"instructions/select-instruction", "conversation-starters"}, {"llmModelId"}


@pytest.mark.proves(
    "Chatbot/description",
    "Appearance/record",
    "Endpoints named without shape/put-appearance",
    "Endpoints named without shape/put-settings",
    "Personas/update",
    "Persona/record",
    "General and user-data settings (v0 paths)/general",
    "General and user-data settings (v0 paths)/user-data",
)
@pytest.mark.parametrize(("method", "path", "fields", "base"), TABLE)
def test_every_field_is_checked_and_stored(
    api: Api, chatbot: Chatbot, method: str, path: str, fields: Fields, base: Body
) -> None:
    send = partial(api.call, method)
    check_fields(send, path.format(**ids_of(chatbot)), fields, all_rows, base=base)


def test_the_table_contains_every_field_of_every_body() -> None:
    document = orjson.loads((ROOT / "openapi.json").read_bytes())
    found, known = {}, dict[str, set[str]]()
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            for content in operation.get("requestBody", {}).get("content", {}).values():
                schema = content["schema"]["$ref"].rsplit("/", 1)[-1]
                fields = document["components"]["schemas"][schema].get("properties", {})
                if "/chatbots/" in path and not path.endswith(tuple(ELSEWHERE[0])):
                    found[f"{method.upper()} {path}"] = set(fields) - ELSEWHERE[1]
    for method, path, fields, _ in TABLE:
        known.setdefault(f"{method} /api{path}", set()).update(fields)
    assert {re.sub(r"\{\w+\}", "{}", key): fields for key, fields in found.items()} == {
        re.sub(r"\{\w+\}", "{}", key): fields for key, fields in known.items()
    }


@pytest.mark.proves("HTTP statuses/400", "Codes/REQUEST_VALIDATION_FAILED", "HTTP statuses/404")
@pytest.mark.parametrize("operation", BODIES, ids=str)
def test_the_account_and_the_chatbot_come_before_the_body_which_must_be_an_object(
    api: Api, stranger: Api, chatbot: Chatbot, operation: Operation
) -> None:
    ids = ids_of(chatbot)
    unknown = ids | dict.fromkeys(("account", "chatbot"), str(uuid.uuid4()))
    cases = [(api, unknown, b"[", 404), (stranger, ids, b"[", 403)]
    cases += [(api, ids, body, 400) for body in (b"[]", b"5", b'"x"', b"null", b"{")]
    for who, keys, body, status in cases:
        answer = who.call(operation.method, operation.path.format(**keys), body)
        assert answer.status_code == status, body


CHANGES: list[tuple[str, str, Body, str]] = [
    ("PATCH", f"{ACCOUNT}/chatbot/{{chatbot}}", {"description": "x"}, "Chatbot.description"),
    ("PATCH", f"{ACCOUNT}/chatbot/{{chatbot}}", {"isActive": False}, "Chatbot.is_active"),
    ("PUT", f"{BOT}/appearance", {"fontSize": 20}, "Appearance.font_size"),
    *(
        ("PATCH", f"{BOT}/instructions/{{instruction}}", body, f"Instruction.{column}")
        for body, column in (
            ({"title": "new"}, "title"),
            ({"creativityLevel": 0}, "creativity_level"),
            ({"deletable": False}, "deletable"),
            ({"isActive": True}, "is_active"),
        )
    ),
    ("PATCH", f"{BOT}/personas/{{persona}}", {"description": ""}, "Persona.description"),
    ("POST", f"{BOT}/lead-settings", {"industryTemplate": "x"}, "LeadSettings.industry_template"),
    ("PUT", f"{BOT}/settings", {"description": "x"}, "GeneralSettings.description"),
    ("PUT", f"{BOT}/settings", {"customerNameTake": False}, "LeadSettings.customer_name_take"),
    (
        "PATCH",
        f"{BOT_V0}/settings/general",
        LIMITED,
        "GeneralSettings.limit_messages_per_conversation",
    ),
]


@pytest.mark.proves(
    "Chatbots/update",
    "States and transitions/Chatbot.isActive",
    "Instructions/update",
    "Endpoints named without shape/put-appearance",
)
@pytest.mark.parametrize(("method", "path", "body", "column"), CHANGES)
def test_only_provided_fields_are_changed_and_unknown_ones_ignored(
    api: Api, chatbot: Chatbot, method: str, path: str, body: Body, column: str
) -> None:
    ids, unknown = ids_of(chatbot), dict.fromkeys(("id", "chatbotId", "createdAt", "extra"), "x")
    api.get("/v1/chatbots")  # records the key's use
    before = all_rows()
    assert api.call(method, path.format(**ids), unknown | body).status_code == 200
    after = all_rows()
    changed = {
        f"{model}.{name}"
        for model, rows in before.items()
        if model not in ("Change", "Version")  # they get new rows
        for old, new in zip(rows, after[model], strict=True)
        for name in old
        if old[name] != new[name]
    }
    model = column.partition(".")[0]
    assert changed - {f"{model}.version"} == {column, f"{model}.updated_at"}
