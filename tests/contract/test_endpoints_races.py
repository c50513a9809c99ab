"""Concurrent writes create no duplicate rows, and no caller gets a 500."""

import os
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
import requests
from django.db import connection

from chatbots.models import (
    Chatbot,
    ConversationStarter,
    GeneralSettings,
    Instruction,
    LeadSettings,
)
from chatbots.models.base import MOST
from conversations.models import Message, Thread
from tests.conftest import Api
from tests.contract.operations import (
    ACCOUNT,
    BOT,
    BOT_V0,
    CHAT,
    USERS,
    Operation,
    call,
    ids_of,
)
from tests.factories.chatbots import InstructionFactory
from tests.factories.conversations import ThreadFactory
from tests.factories.webhooks import EndpointFactory
from tests.patience import PATIENCE
from tests.servers.processes import Web
from webhooks.models import Delivery

pytestmark = pytest.mark.django_db(transaction=True)

CLIENTS = 50
TOGGLES = int(os.environ.get("TEST_TOGGLES", "101"))  # must be odd; 1001 in CI
Many = Callable[[str, str, list[Any]], list[Any]]
CHANGES = [  # "{word}" is replaced with a different word in each request
    Operation("PATCH", f"{ACCOUNT}/chatbot/{{chatbot}}", USERS, {"name": "{word}"}),
    Operation("PUT", f"{BOT}/appearance", USERS, {"tooltip": "{word}"}),
    Operation(
        "PATCH",
        f"{BOT}/follow-up-prompts/{{follow_up_prompt}}",
        USERS,
        {"linkText": "{word}", "linkSrc": "{word}"},
    ),
    Operation("PATCH", f"{BOT}/instructions/{{instruction}}", USERS, {"title": "{word}"}),
    Operation("PATCH", f"{BOT}/personas/{{persona}}", USERS, {"title": "{word}"}),
    Operation("POST", f"{BOT}/lead-settings", USERS, {"industryTemplate": "{word}"}),
    Operation("PUT", f"{BOT}/settings", USERS, {"description": "{word}"}),
    Operation("PATCH", f"{BOT_V0}/settings/general", USERS, {"description": "{word}"}),
    Operation("POST", f"{CHAT}/threads", USERS, {"visitorId": "v", "visitorName": "{word}"}),
    Operation(
        "PATCH",
        f"{CHAT}/thread/update-thread",
        USERS,
        {"threadId": "{thread}", "title": "{word}", "visitorName": "{word}"},
    ),
    Operation("PATCH", f"{CHAT}/message/{{message}}", USERS, {"reaction": "{word}"}),
]


@pytest.fixture(scope="module")
def web(django_db_setup: None) -> Iterator[Web]:
    with Web() as web:
        yield web


@pytest.fixture
def many(api: Api, web: Web) -> Iterator[Many]:
    """Return a function that sends bodies to one path from many concurrent clients."""
    with ThreadPoolExecutor(CLIENTS) as pool:
        headers = {"Authorization": f"Bearer {api.key}"}

        def send(method: str, path: str, bodies: list[Any]) -> list[Any]:
            def one(body: Any) -> Any:
                return requests.request(
                    method, f"{web.address}/api{path}", json=body, headers=headers, timeout=PATIENCE
                )

            return list(pool.map(one, bodies))

        yield send


@contextmanager
def called_after_commit(other: Callable[[], Any]) -> Iterator[None]:
    """Call a function once, between this connection's commit and its next statement."""
    began = called = False

    def call_with_own_connection() -> None:
        try:
            other()
        finally:
            connection.close()

    def before_a_statement(execute: Any, *given: Any) -> Any:
        nonlocal began, called
        if began and not called and not connection.in_atomic_block:
            called = True
            with ThreadPoolExecutor(1) as pool:
                pool.submit(call_with_own_connection).result(PATIENCE)
        began = began or connection.in_atomic_block
        return execute(*given)

    with connection.execute_wrapper(before_a_statement):
        yield


@pytest.mark.proves("Endpoints named without shape", "General and user-data settings (v0 paths)")
@pytest.mark.parametrize("operation", CHANGES, ids=str)
def test_a_response_shows_what_its_own_request_stored(
    api: Api, chatbot: Chatbot, operation: Operation
) -> None:
    ids = ids_of(chatbot)
    api.get("/v1/chatbots")  # records the key's use
    with called_after_commit(lambda: call(api, operation, ids | {"word": "later"})):
        data = call(api, operation, ids | {"word": "own"}).json()["data"]
    shown = data.get("thread", data)
    for name, value in operation.body.items():
        if value == "{word}":
            assert shown[name] == "own"


@pytest.mark.proves("States and transitions")
def test_the_response_to_a_toggle_shows_its_own_change(api: Api, chatbot: Chatbot) -> None:
    path = f"/v1/chatting/{chatbot.pk}/thread/{ThreadFactory(chatbot=chatbot).pk}/escalate"
    api.get("/v1/chatbots")  # records the key's use
    with called_after_commit(lambda: api.patch(path)):
        data = api.patch(path).json()["data"]
    assert data["systemMessage"]["systemMessageType"] == "CONVERSATION_ESCALATED"
    assert data["thread"]["escalated"] is True


@pytest.mark.slow
@pytest.mark.proves("Chatbot", "Chatbots")
def test_one_of_many_concurrent_creations_with_the_same_name_succeeds(
    many: Many, chatbot: Chatbot
) -> None:
    path = f"/v1/chatbots/account/{chatbot.account_id}/create-chatbot"
    answers = many("POST", path, [{"name": "Porter", "description": "new"}] * 100)
    assert Counter(answer.status_code for answer in answers) == {200: 1, 400: 99}
    refused = [answer.json()["errors"] for answer in answers if answer.status_code == 400]
    assert all(
        errors == [{"path": ["name"], "message": "Must be unique within the account"}]
        for errors in refused
    )
    assert Chatbot.objects.filter(name="Porter").count() == 1


@pytest.mark.slow
@pytest.mark.proves("General and user-data settings (v0 paths)", "Lead settings")
def test_settings_created_on_demand_are_created_once(many: Many, chatbot: Chatbot) -> None:
    GeneralSettings.objects.all().delete()
    here = f"chatbots/chatbot/{chatbot.pk}"
    calls = [
        ("PATCH", f"/v0/{here}/settings/general", {"description": "new"}),
        ("PATCH", f"/v0/{here}/settings/user-data", {"customerNameTake": True}),
        ("POST", f"/v1/{here}/lead-settings", {"industryTemplate": "new"}),
    ]
    for method, path, body in calls:
        answers = many(method, path, [body] * 60)
        assert {answer.status_code for answer in answers} == {200}
    assert (GeneralSettings.objects.count(), LeadSettings.objects.count()) == (1, 1)


@pytest.mark.proves("Instructions")
def test_concurrent_selections_leave_one_instruction_active(many: Many, chatbot: Chatbot) -> None:
    rows = InstructionFactory.create_batch(10, chatbot=chatbot)
    path = f"/v1/chatbots/chatbot/{chatbot.pk}/instructions/select-instruction"
    answers = many("POST", path, [{"instructionId": str(row.pk)} for row in rows] * 10)
    assert {answer.status_code for answer in answers} == {200}
    assert Instruction.objects.filter(is_active=True).count() == 1


@pytest.mark.proves("Instructions", "Endpoints named without shape")
def test_concurrent_additions_stop_at_the_limit_of_a_list(many: Many, chatbot: Chatbot) -> None:
    for model, path, body, name in (
        (ConversationStarter, "conversation-starters", {}, "conversation starters"),
        (Instruction, "instructions", {"title": "t", "instruction": "i"}, "instructions"),
        (Instruction, "instructions/select-instruction", {"instruction": "i"}, "instructions"),
    ):
        model.objects.all().delete()
        model.objects.bulk_create([model(chatbot=chatbot) for _ in range(MOST - 3)])
        bodies = [{**body, "title": f"new {number}"} for number in range(20)]
        answers = many("POST", f"/v1/chatbots/chatbot/{chatbot.pk}/{path}", bodies)
        assert Counter(answer.status_code for answer in answers) == {200: 3, 400: 17}
        told = {answer.json()["message"] for answer in answers if answer.status_code == 400}
        assert told == {f"a chatbot has at most {MOST} {name}"}
        assert model.objects.count() == MOST


@pytest.mark.proves("States and transitions")
def test_an_odd_number_of_concurrent_toggles_escalates_the_thread(
    many: Many, chatbot: Chatbot
) -> None:
    EndpointFactory(chatbot=chatbot)
    thread = ThreadFactory(chatbot=chatbot)
    path = f"/v1/chatting/{chatbot.pk}/thread/{thread.pk}/escalate"
    answers = many("PATCH", path, [None] * TOGGLES)
    assert {answer.status_code for answer in answers} == {200}
    assert Thread.objects.get().escalated
    assert Message.objects.filter(message_type="SYSTEM_MESSAGE").count() == TOGGLES
    assert Delivery.objects.filter(event="CONVERSATION_ESCALATED").count() == (TOGGLES + 1) // 2
