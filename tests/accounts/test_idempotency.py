"""Idempotency-Key: a repeated POST gets the original response and runs once."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
import requests
from django.db import connection
from django.utils import timezone

from accounts import idempotency
from accounts.models import Plan, StoredAnswer, Usage
from chatbots.models import Chatbot, ChatbotMember, GeneralSettings, Instruction, LlmModel
from config.database.claims import LEASE
from conversations.models import Message, OwedReply, Thread
from tests.accounts.posts import INSTRUCTION, instructions, path_of
from tests.conftest import Api, caller
from tests.contract.operations import member
from tests.factories.conversations import ThreadFactory
from tests.factories.webhooks import EndpointFactory
from tests.servers.model import ModelServer, replying, saying
from tests.servers.processes import Web, wait_until
from webhooks.models import Delivery

pytestmark = pytest.mark.proves("Threads and messages")


@pytest.fixture
def thread(chatbot: Chatbot) -> Thread:
    return ThreadFactory(chatbot=chatbot)


def test_the_same_key_and_body_return_the_stored_response(api: Api, chatbot: Chatbot) -> None:
    path = instructions(chatbot)
    first = api.post(path, INSTRUCTION, Idempotency_Key="one")
    again = api.post(path, INSTRUCTION, Idempotency_Key="one")
    assert (first.status_code, again.status_code) == (200, 200)
    assert again.content == first.content
    assert again["Content-Type"] == first["Content-Type"]
    assert Instruction.objects.count() == 1
    api.post(path, INSTRUCTION, Idempotency_Key="two")
    api.post(path, INSTRUCTION)
    assert Instruction.objects.count() == 3


def test_a_used_key_with_another_body_is_rejected(api: Api, chatbot: Chatbot) -> None:
    path = instructions(chatbot)
    api.post(path, INSTRUCTION, Idempotency_Key="one")
    answer = api.post(path, INSTRUCTION | {"title": "Else"}, Idempotency_Key="one")
    assert (answer.status_code, answer.json()) == (
        400,
        {
            "success": False,
            "message": "request body is not valid",
            "code": "REQUEST_VALIDATION_FAILED",
            "errors": [
                {"path": ["Idempotency-Key"], "message": "Already used with a different body"}
            ],
        },
    )
    assert Instruction.objects.count() == 1


@pytest.mark.parametrize("key", ["", "two words", "é", "x" * 256, "tab\there"])
def test_a_key_that_is_empty_too_long_or_not_visible_ascii_is_rejected(
    api: Api, chatbot: Chatbot, key: str
) -> None:
    answer = api.post(instructions(chatbot), INSTRUCTION, Idempotency_Key=key)
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["path"] == ["Idempotency-Key"]
    assert not Instruction.objects.exists()


def test_a_key_is_scoped_to_its_caller_and_route(api: Api, chatbot: Chatbot) -> None:
    """All API keys of a user count as one caller."""
    path, other = instructions(chatbot), f"{instructions(chatbot)}/select-instruction"
    api.post(path, INSTRUCTION, Idempotency_Key="one")
    second_key = caller(chatbot.account.owner)
    assert second_key.post(path, INSTRUCTION, Idempotency_Key="one").status_code == 200
    assert Instruction.objects.count() == 1
    assert api.post(other, INSTRUCTION, Idempotency_Key="one").status_code == 200
    assert StoredAnswer.objects.count() == 2


def test_a_stored_response_is_not_returned_to_a_caller_who_has_lost_access(
    chatbot: Chatbot,
) -> None:
    path, added = instructions(chatbot), member(chatbot, added=True)
    assert added.post(path, INSTRUCTION, Idempotency_Key="one").status_code == 200
    ChatbotMember.objects.all().delete()
    assert added.post(path, INSTRUCTION, Idempotency_Key="one").status_code == 403


def test_a_400_is_stored_but_a_429_for_an_exceeded_quota_is_not(api: Api, thread: Thread) -> None:
    path = path_of(thread)
    bad = [api.post(path, {"content": ""}, Idempotency_Key="bad").content for _ in range(2)]
    assert bad[0] == bad[1]
    assert StoredAnswer.objects.get().status == 400
    Plan.objects.filter(pk=thread.chatbot.account.plan_id).update(monthly_messages=0)
    assert api.post(path, {"content": "Hi"}, Idempotency_Key="one").status_code == 429
    assert StoredAnswer.objects.count() == 1  # a 429 is not stored, so a retry is processed
    Plan.objects.filter(pk=thread.chatbot.account.plan_id).update(monthly_messages=None)
    assert api.post(path, {"content": "Hi"}, Idempotency_Key="one").status_code == 200


@pytest.mark.parametrize(
    ("age", "kept"), [(timedelta(hours=23), True), (timedelta(25 / 24), False)]
)
def test_a_response_is_kept_for_a_day(
    api: Api, chatbot: Chatbot, age: timedelta, kept: bool
) -> None:
    path = instructions(chatbot)
    api.post(path, INSTRUCTION, Idempotency_Key="one")
    StoredAnswer.objects.update(created_at=timezone.now() - age)
    api.post(path, INSTRUCTION, Idempotency_Key="one")
    assert Instruction.objects.count() == (1 if kept else 2)
    StoredAnswer.objects.update(created_at=timezone.now() - age)
    list(idempotency.forget())
    assert StoredAnswer.objects.exists() is kept


def send(web: Web, key: str | None, thread: Thread) -> Any:
    """Send a message through a running web server, always with the same Idempotency-Key."""
    headers = {"Authorization": f"Bearer {key}", "Idempotency-Key": "k"}
    url = f"{web.address}/api{path_of(thread)}"
    return requests.post(url, json={"content": "Hi"}, headers=headers, timeout=60)


@pytest.fixture
def model() -> Any:
    with ModelServer() as server:
        server.say(saying("Hello.", delay=1.0))
        yield server


@pytest.fixture
def slow(transactional_db: None, chatbot: Chatbot, model: ModelServer) -> Thread:
    """A thread whose bot has a slow model and a webhook."""
    row = LlmModel.objects.create(provider="openai", title="Slow", base_url=model.base_url)
    GeneralSettings.objects.update(llm_model=row)
    EndpointFactory(chatbot=chatbot)
    return ThreadFactory(chatbot=chatbot)


def said_once(thread: Thread) -> None:
    """Assert that one message and its reply are stored, each with an event, and that usage is 1."""
    kinds = list(Message.objects.filter(thread=thread).order_by("position"))
    assert [each.message_type for each in kinds] == ["USER_MESSAGE", "AI_MESSAGE"]
    assert Delivery.objects.filter(thread_id=thread.pk).count() == 2
    assert Usage.objects.get().messages == 1


def rename(table: str, to: str) -> None:
    """Rename a table, either to hide it or to restore its original name."""
    try:
        with connection.cursor() as cursor:
            cursor.execute(f"ALTER TABLE {table} RENAME TO {to}")
    finally:
        connection.close()


def test_a_send_that_failed_after_storing_its_message_resumes_with_the_reply(
    api: Api, slow: Thread, model: ModelServer
) -> None:
    table = Message._meta.db_table

    def fail(_: Any) -> str:
        rename(table, "away")
        return "Never stored."

    model.say(replying(fail), saying("Hello."))
    path = path_of(slow)
    assert api.post(path, {"content": "Hi"}, Idempotency_Key="k").status_code == 500
    rename("away", table)
    again = api.post(path, {"content": "Hi"}, Idempotency_Key="k")
    assert [one["content"] for one in again.json()["data"]["messages"]] == ["Hi", "Hello."]
    said_once(slow)


@pytest.mark.slow
def test_a_hundred_concurrent_retries_create_one_message_one_reply_and_one_event_each(
    api: Api, slow: Thread, model: ModelServer
) -> None:
    with Web() as web, ThreadPoolExecutor(100) as pool:
        answers = list(pool.map(lambda _: send(web, api.key, slow), range(100)))
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.content for answer in answers}) == 1
    assert len(model.arrivals) == 1
    said_once(slow)


def test_a_process_that_dies_midway_does_not_block_the_key(
    api: Api, slow: Thread, model: ModelServer
) -> None:
    """A retry takes over. The message and the reply are each stored only once."""
    with Web() as doomed, ThreadPoolExecutor(1) as pool:
        attempt = pool.submit(send, doomed, api.key, slow)
        wait_until(lambda: model.arrivals, told=doomed.said)
        doomed.kill()
        assert isinstance(attempt.exception(), requests.ConnectionError)
    assert StoredAnswer.objects.get().claimed_until <= timezone.now() + LEASE
    for leased in (StoredAnswer, OwedReply):  # pretend that the leases have expired
        assert leased.objects.update(claimed_until=timezone.now()) == 1
    with Web() as web:
        answer = send(web, api.key, slow)
        assert answer.status_code == 200
        assert [each["content"] for each in answer.json()["data"]["messages"]] == ["Hi", "Hello."]
        assert answer.elapsed < LEASE
    said_once(slow)


def test_an_expired_claim_is_taken_over_and_its_late_response_is_not_stored(
    chatbot: Chatbot,
) -> None:
    account = chatbot.account
    begin = partial(
        idempotency.begin, account.owner_id, account_id=account.pk, route="POST", key="k", body=b""
    )
    holder = begin()
    assert isinstance(holder, idempotency.Claim)
    StoredAnswer.objects.update(claimed_until=timezone.now() - timedelta(seconds=1))
    taker = begin()
    assert isinstance(taker, idempotency.Claim)
    assert taker.row == holder.row
    with pytest.raises(idempotency.TakenOver):
        idempotency.keep(holder, 200, b"late")
    idempotency.keep(taker, 200, b"in time")
    assert begin() == (200, b"in time")
