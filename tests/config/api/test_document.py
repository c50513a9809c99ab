"""The OpenAPI document is valid and complete, and its examples match its schemas."""

import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from jsonschema import Draft202012Validator
from openapi_spec_validator import validate

from chatbots.models import Chatbot
from config.api.document import document
from tests.conftest import Api
from tests.factories.chatbots import FollowUpPromptFactory
from tests.house.source import ROOT
from webhooks.payloads import Event

pytestmark = pytest.mark.proves("Endpoints", "HTTP statuses", "Bodies", "Body shapes")

DOCUMENT: dict[str, Any] = json.loads((ROOT / "openapi.json").read_text())
COMPONENTS = DOCUMENT["components"]
SCHEMAS = COMPONENTS["schemas"]
OPERATIONS = {
    operation["operationId"]: (method, path, operation)
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
}
EACH = pytest.mark.parametrize("name", OPERATIONS)


def walk(value: Any, place: str = "#") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every object in the document with its position, except objects inside examples."""
    if isinstance(value, dict):
        yield place, value
        for name, inner in value.items():
            if name not in ("example", "examples"):
                yield from walk(inner, f"{place}/{name}")
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from walk(inner, f"{place}/{number}")


def served(patterns: list[Any], before: str = "/") -> Iterator[tuple[str, str]]:
    """Yield every method and path of the service's routes below /api."""
    for pattern in patterns:
        here = before + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from served(pattern.url_patterns, here)
        elif isinstance(pattern, URLPattern) and here.startswith("/api/"):
            for method in set(pattern.callback.actions) - {"head"}:  # added by DRF on first use
                yield (
                    method,
                    re.sub("<str:([a-z_]+)>", lambda found: f"{{{camel(found[1])}}}", here),
                )


def camel(name: str) -> str:
    return re.sub("_([a-z])", lambda found: found[1].upper(), name)


def test_the_document_is_valid() -> None:
    assert DOCUMENT["openapi"].startswith("3.1")
    validate(DOCUMENT)


def test_it_contains_exactly_the_routes_of_the_service() -> None:
    there = {(method, path) for method, path, _ in OPERATIONS.values()}
    assert there == set(served(get_resolver().url_patterns))
    assert len(OPERATIONS) == len(there)


EXAMPLES = [
    pytest.param(part["schema"], part["example"], id=place)
    for place, part in walk(DOCUMENT)
    if "schema" in part and "example" in part
] + [
    pytest.param(part, example, id=place)
    for place, part in walk(SCHEMAS, "#/components/schemas")
    for example in (part["examples"] if isinstance(part.get("examples"), list) else ())
]


@pytest.mark.parametrize(("schema", "example"), EXAMPLES)
def test_an_example_matches_its_schema(schema: dict[str, Any], example: Any) -> None:
    validator = Draft202012Validator(
        {**schema, "components": COMPONENTS}, format_checker=Draft202012Validator.FORMAT_CHECKER
    )
    assert [error.message for error in validator.iter_errors(example)] == []


BUTTON, LINK = {"buttonTitle": "a", "buttonMessage": "b"}, {"linkText": "c", "linkSrc": "d"}
NO_LINK = {"linkText": None, "linkSrc": ""}
LIMITED, LIMIT = {"limitMessagesPerConversation": True}, {"maxMessagesPerConversation": 5}
UNLIMITED = {"limitMessagesPerConversation": False}
RULES = [
    *(("InstructionChoice", body, False) for body in ({}, {"instruction": "a"}, {"title": " "})),
    *(("InstructionChoice", body, False) for body in ({"instructionId": ""}, {"title": ""})),
    ("InstructionChoice", {"title": "a", "instruction": "b"}, True),
    ("InstructionChoice", {"title": "a", "instruction": "b", "instructionId": ""}, True),
    *(("FollowUpPromptInput", body, True) for body in (BUTTON, LINK, BUTTON | NO_LINK)),
    *(("FollowUpPromptInput", body, False) for body in ({}, NO_LINK, BUTTON | LINK)),
    ("FollowUpPromptInput", {"esclate": True}, False),
    ("FollowUpPromptInput", {"buttonTitle": "a"}, False),
    ("FollowUpPromptInput", BUTTON | {"linkText": " "}, False),
    ("FollowUpPromptInput", BUTTON | {"buttonMessage": " "}, False),
    ("FollowUpPromptInput", LINK | {"linkSrc": None}, False),
    *(
        (name, body, good)
        for name in ("GeneralSettingsInput", "AllSettingsInput")
        for body, good in (
            ({}, True),
            (UNLIMITED, True),
            (UNLIMITED | LIMIT, False),
            (LIMITED | LIMIT, True),
        )
    ),
]
PLACES = {
    "InstructionChoice": ("POST", "v1/chatbots/chatbot/{}/instructions/select-instruction"),
    "FollowUpPromptInput": ("PATCH", "v1/chatbots/chatbot/{}/follow-up-prompts/{}"),
    "GeneralSettingsInput": ("PATCH", "v0/chatbots/chatbot/{}/settings/general"),
    "AllSettingsInput": ("PUT", "v1/chatbots/chatbot/{}/settings"),
}


@pytest.mark.parametrize(("name", "body", "good"), RULES)
def test_a_rule_between_fields_is_the_same_in_the_document_and_in_the_service(
    api: Api, chatbot: Chatbot, name: str, body: dict[str, Any], good: bool
) -> None:
    schema = {"$ref": f"#/components/schemas/{name}", "components": COMPONENTS}
    assert Draft202012Validator(schema).is_valid(body) is good
    method, path = PLACES[name]
    prompt = FollowUpPromptFactory(chatbot=chatbot)
    answer = api.call(method, "/" + path.format(chatbot.pk, prompt.pk), body)
    assert answer.status_code == (200 if good else 400)


@EACH
def test_every_operation_lists_its_possible_errors(name: str) -> None:
    method, path, operation = OPERATIONS[name]
    queries = [one for one in operation["parameters"] if one.get("in") == "query"]
    expected = {"200", "401", "429", "500"}
    reads = queries or "requestBody" in operation or method == "post"  # Idempotency-Key
    expected |= {"400"} if reads else set()
    expected |= {"403", "404"} if "{" in path else set()
    assert set(operation["responses"]) == expected


@EACH
def test_a_response_is_an_envelope_with_all_its_fields_required(name: str) -> None:
    answer = OPERATIONS[name][2]["responses"]["200"]["content"]["application/json"]["schema"]
    envelope = SCHEMAS[answer["$ref"].rpartition("/")[2]]
    assert set(envelope["required"]) == {"statusCode", "success", "message", "data"}
    assert envelope["properties"]["statusCode"]["const"] == 200
    assert envelope["properties"]["success"]["const"] is True


@EACH
def test_path_ids_are_uuids_with_the_spelling_of_the_specification(name: str) -> None:
    _, path, operation = OPERATIONS[name]
    given = [one for one in operation["parameters"] if one.get("in") == "path"]
    assert {one["name"] for one in given} == set(re.findall(r"\{([a-z][A-Za-z]+)\}", path))
    assert all(one["required"] and one["schema"]["format"] == "uuid" for one in given)


@pytest.mark.parametrize(
    "name", [name for name in SCHEMAS if name.endswith(("Record", "Answer", "Details", "Payload"))]
)
def test_a_record_has_all_its_fields(name: str) -> None:
    assert set(SCHEMAS[name]["required"]) == set(SCHEMAS[name]["properties"])


def test_every_event_is_described_with_its_headers() -> None:
    events = {name: item["post"] for name, item in DOCUMENT["webhooks"].items()}
    assert list(events) == list(Event)
    for name, event in events.items():
        body = event["requestBody"]["content"]["application/json"]["schema"]
        assert body["properties"]["event"]["const"] == name
        headers = {one["name"] for one in event["parameters"]}
        assert headers == {"X-WEBHOOK-TOKEN", "X-SIGNATURE", "User-Agent"}


@pytest.mark.proves("Limits/address")
def test_the_document_is_built_once_and_counts_towards_the_address_limit(settings: Any) -> None:
    settings.RATE_LIMIT_IP = (40, 10**8)  # the window outlasts the test
    document.cache_clear()
    with ThreadPoolExecutor(8) as threads:  # the first requests arrive together
        answers = list(threads.map(lambda _: Client().get("/openapi.json"), range(41)))
    assert sorted(answer.status_code for answer in answers) == [200] * 40 + [429]
    assert document.cache_info().misses == 1
    served = next(answer for answer in answers if answer.status_code == 200)
    assert json.loads(served.content) == DOCUMENT
