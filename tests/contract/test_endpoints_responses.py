"""The responses of every operation match the recorded status, headers and exact body.

Ids and times are replaced, because they differ between runs. To record the responses again after
an intended change, run these tests with RECORD=1.
"""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from django.http import HttpResponse

from chatbots.models import Chatbot
from tests.conftest import Api
from tests.contract.operations import CHAT, OPERATIONS, Operation, call, ids_of

RECORDED = Path(__file__).with_name("responses.json")
ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
NUMBERED = re.compile(r"([A-Za-z][ -]?)\d+")
OWN = ("X-Request-Id", "Content-Length")  # headers whose values are not compared

REFUSED = {
    "no key": ("GET", "/v1/chatbots", None, {"Authorization": ""}),
    "an unknown key": ("GET", "/v1/chatbots", None, {"Authorization": "Bearer x"}),
    "an unknown path": ("GET", "/v1/nowhere", None, {}),
    "an unknown host": ("GET", "/v1/chatbots", None, {"Host": "elsewhere.example"}),
    "another method": ("DELETE", "/v1/chatbots", None, {}),
    "an unknown method": ("OPTIONS", "/v1/chatbots", None, {}),
    "a malformed id": ("GET", f"{CHAT}/thread/x/messages", None, {}),
    "a malformed chatbot": ("GET", "/v1/chatting/x/threads", None, {}),
    "a malformed account": ("GET", "/v1/chatbots/account/x/all-chatbots", None, {}),
    "a bad query": ("GET", f"{CHAT}/thread/{{thread}}/messages?limit=x&before=y", None, {}),
    "no body": ("POST", f"{CHAT}/thread/{{thread}}/message", None, {}),
    "a body that is not JSON": ("POST", f"{CHAT}/threads", b"{", {}),
    "a body of another kind": ("POST", f"{CHAT}/threads", b"a", {"Content-Type": "text/plain"}),
    "a bad field": ("POST", f"{CHAT}/thread/{{thread}}/message", {"content": 1}, {}),
    "a bad idempotency key": ("POST", f"{CHAT}/threads", {}, {"Idempotency-Key": " "}),
    "a large body": ("POST", f"{CHAT}/threads", b" " * 1024 * 1024 + b"{}", {}),
    "only the headers": ("HEAD", "/v1/chatbots", None, {}),
}


def settled(text: str) -> str:
    """Replace ids, times, and the numbers that factories put into names."""
    return NUMBERED.sub(r"\1N", TIME.sub("TIME", ID.sub("ID", text)))


def comparable(answer: HttpResponse, ids: dict[str, str]) -> Any:
    """Return the parts of a response that must not differ between runs.

    Asserts that Content-Length is the length of the body.
    """
    if answer.content and "Content-Length" in answer:
        assert answer["Content-Length"] == str(len(answer.content))
    text = answer.content.decode()
    for name, value in ids.items():
        text = text.replace(value, f"{{{name}}}")
    return {
        "status": answer.status_code,
        "headers": {name: "" if name in OWN else value for name, value in answer.items()},
        "body": settled(text),
    }


def check(name: str, found: Any) -> None:
    """Assert that a response matches the recorded one.

    If the environment variable RECORD is set, record the response first.
    """
    recorded = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
    if "RECORD" in os.environ:
        recorded[name] = found
        RECORDED.write_text(json.dumps(recorded, indent=2, ensure_ascii=False) + "\n")
    assert found == recorded[name]


@pytest.mark.proves(
    "Chatbot/record",
    "Appearance/record",
    "Appearance and localization/appearance",
    "Localization text set/record",
    "Follow-up prompt/record",
    "Instruction/record",
    "Persona/record",
    "Lead settings (one per chatbot)/record",
    "General settings (one per chatbot)/record",
    "User-data settings (returned shape)/record",
)
@pytest.mark.parametrize("operation", OPERATIONS, ids=str)
def test_a_response_matches_the_recorded_one(
    api: Api, chatbot: Chatbot, operation: Operation
) -> None:
    ids = ids_of(chatbot)
    check(str(operation), comparable(call(api, operation, ids), ids))


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_matches_the_recorded_one(api: Api, chatbot: Chatbot, name: str) -> None:
    method, path, body, headers = REFUSED[name]
    ids = ids_of(chatbot)
    answer = api.call(method, path.format(**ids), body, **headers)
    check(name, comparable(answer, ids))
