"""While another session locks rows, changes to these rows time out, and other requests proceed."""

import sqlite3
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from typing import Any, NamedTuple
from uuid import uuid4

import psycopg
import pytest
import requests
from django.conf import settings
from django.db import connection
from django.db.models import QuerySet
from psycopg.errors import DeadlockDetected

from accounts.models import ApiKey
from chatbots.models import Chatbot
from conversations.models import Message, Thread
from tests.conftest import Api, caller
from tests.factories.accounts import AccountFactory
from tests.factories.chatbots import ChatbotFactory
from tests.factories.conversations import ThreadFactory
from tests.servers.locks import locked, waits_for_a_lock
from tests.servers.processes import Web, wait_until

# Maximum response time in seconds. A request waits at most 1 s for a lock, but it may also have to
# wait for a database connection.
SOON = 20.0
AT_ONCE = 20  # number of concurrent requests; exceeds the combined pool size of two processes

for_postgresql = pytest.mark.skipif(settings.EMBEDDED, reason="SQLite has no row locks")
pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.proves("Response envelope"),
]


class Answer(NamedTuple):
    """A response, and how many seconds it took."""

    status: int
    headers: Any
    seconds: float


class Service(NamedTuple):
    """A running web server, a caller of the API, and a thread to which the caller has access."""

    web: Web
    api: Api
    thread: Thread

    def call(self, method: str, path: str, body: Any = None, key: str | None = None) -> Answer:
        known = {"Authorization": f"Bearer {key or self.api.key}"}
        url, began = f"{self.web.address}/api{path}", time.monotonic()
        response = requests.request(method, url, headers=known, json=body, timeout=60)
        return Answer(response.status_code, response.headers, time.monotonic() - began)

    def send(self) -> Answer:
        thread = f"/v1/chatting/{self.thread.chatbot_id}/thread/{self.thread.pk}"
        return self.call("POST", f"{thread}/message", {"content": "Where is my parcel?"})


@pytest.fixture
def service(chatbot: Chatbot, api: Api) -> Iterator[Service]:
    thread = ThreadFactory(chatbot=chatbot)
    with Web() as web:
        yield Service(web, api, thread)


@pytest.fixture
def key() -> "QuerySet[ApiKey]":
    return ApiKey.objects.all()


@for_postgresql
def test_requests_for_a_locked_thread_give_up_and_others_are_answered(service: Service) -> None:
    other = caller(AccountFactory().owner)
    ended = threading.Event()

    def keep_sending() -> list[Answer]:
        answers = []
        while not ended.is_set():
            answers.append(service.send())
        return answers

    with (
        locked(Thread.objects.filter(pk=service.thread.pk)),
        ThreadPoolExecutor(AT_ONCE) as senders,
    ):
        sends = [senders.submit(keep_sending) for _ in range(AT_ONCE)]
        try:
            wait_until(waits_for_a_lock)
            reads = [service.call("GET", "/v1/chatbots", key=other.key) for _ in range(5)]
        finally:
            ended.set()
        sent = [answer for one in sends for answer in one.result()]
    assert {answer.status for answer in sent} == {503}
    assert all(answer.headers["Retry-After"] == "1" for answer in sent)
    assert {answer.status for answer in reads} == {200}
    assert max(answer.seconds for answer in sent + reads) < SOON
    assert "canceling statement due to lock timeout" in service.web.said()
    assert not Message.objects.exists()
    assert service.send().status == 200


def rename(api: Api, chatbot: Chatbot, name: str) -> Any:
    try:
        path = f"/v1/chatbots/account/{chatbot.account_id}/chatbot/{chatbot.pk}"
        return api.patch(path, {"name": name})
    finally:
        connection.close()


def deadlock(api: Api, chatbot: Chatbot, other: Chatbot) -> Any:
    """Cause a deadlock between a request and another session, and return the response."""
    own = "UPDATE chatbots_chatbot SET name = %s WHERE id = %s"
    with psycopg.connect(**connection.get_connection_params()) as session:
        session.execute(own, [uuid4().hex, other.pk])
        with ThreadPoolExecutor(1) as pool:
            answer = pool.submit(rename, api, chatbot, other.name)
            wait_until(waits_for_a_lock)
            with suppress(DeadlockDetected):
                session.execute(own, [chatbot.name, chatbot.pk])
            session.rollback()
            return answer.result()


@for_postgresql
def test_a_request_that_was_ended_by_a_deadlock_can_be_sent_again(
    api: Api, chatbot: Chatbot
) -> None:
    other = ChatbotFactory(account=chatbot.account)
    for _ in range(5):  # on a busy machine, PostgreSQL may abort the other session instead
        answer = deadlock(api, chatbot, other)
        if answer.status_code != 400:
            break
    assert (answer.status_code, answer["Retry-After"]) == (503, "1")


@pytest.mark.skipif(not settings.EMBEDDED, reason="PostgreSQL does not serialize writers")
def test_a_read_does_not_wait_for_a_writer(service: Service, key: "QuerySet[ApiKey]") -> None:
    with closing(sqlite3.connect(connection.settings_dict["NAME"])) as other:
        other.execute("BEGIN IMMEDIATE")
        answer = service.call("GET", "/v1/chatbots")
        other.rollback()
    assert answer.status == 200
    assert answer.seconds < SOON / 4
    assert key.get().last_used_at is None
    wait_until(lambda: service.call("GET", "/v1/chatbots").status == 200)
    assert key.get().last_used_at
