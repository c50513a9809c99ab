"""Sends that wait for a slow model hold up nobody, and hold no database connection."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest
import requests
from django.db import connection

from chatbots.models import Chatbot, GeneralSettings, LlmModel
from conversations.models import Message, Thread
from tests.conftest import Api
from tests.factories.conversations import ThreadFactory
from tests.servers.behaviours import Arrival, Step
from tests.servers.model import ModelServer, saying
from tests.servers.processes import Web, wait_until

pytestmark = [pytest.mark.proves("Threads and messages"), pytest.mark.django_db(transaction=True)]

WAITING = 60
LONG = 300  # seconds


class SlowModel(ModelServer):
    """A model that says nothing until it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.ready = threading.Event()
        self.say(self.late)

    def late(self, arrival: Arrival) -> Iterator[Step]:
        self.ready.wait(LONG)
        yield from saying("At last.")(arrival)


@pytest.fixture
def model() -> Iterator[SlowModel]:
    with SlowModel() as server:
        yield server
        server.ready.set()


@pytest.fixture
def thread(chatbot: Chatbot, model: SlowModel) -> Thread:
    """A thread of a chatbot whose model is slow."""
    row = LlmModel.objects.create(provider="openai", title="Slow", base_url=model.base_url)
    GeneralSettings.objects.update(llm_model=row)
    return ThreadFactory(chatbot=chatbot)


def open_connections() -> int:
    """Count the connections to the tests' database, ours left out."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        return int(cursor.fetchone()[0])


def test_reads_do_not_queue_behind_waiting_sends(api: Api, thread: Thread, model: Any) -> None:
    limits = {"RATE_LIMIT_IP": "off", "RATE_LIMIT_USER": "off"}
    with Web(LLM_TIMEOUT=str(LONG), WEB_WORKERS="2", **limits) as web:
        here = f"{web.address}/api/v1/chatting/{thread.chatbot_id}/thread/{thread.pk}"
        headers = {"Authorization": f"Bearer {api.key}"}
        answers: list[Any] = []

        def send() -> None:
            body = {"content": "Hello"}
            answers.append(
                requests.post(f"{here}/message", json=body, headers=headers, timeout=LONG)
            )

        senders = [threading.Thread(target=send) for _ in range(WAITING)]
        for sender in senders:
            sender.start()
        wait_until(lambda: len(model.arrivals) == WAITING, told=web.said)
        for _ in range(10):
            assert requests.get(f"{here}/messages", headers=headers, timeout=30).status_code == 200
        assert not answers, "the sends should still be waiting"
        if connection.vendor == "postgresql":
            assert open_connections() <= 20
        model.ready.set()
        for sender in senders:
            sender.join()
    assert {answer.status_code for answer in answers} == {200}
    assert Message.objects.filter(content="At last.").count() == WAITING
