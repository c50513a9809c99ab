"""A message that waits for a slow model blocks no request and holds no database connection."""

import threading
from collections.abc import Iterator
from itertools import chain
from typing import Any

import pytest
import requests

from accounts.models import Usage
from chatbots.models import Chatbot, GeneralSettings, LlmModel
from conversations.models import Message, Thread
from tests.conftest import Api, caller
from tests.factories.chatbots import ChatbotFactory
from tests.factories.conversations import ThreadFactory
from tests.servers.model import HeldModel
from tests.servers.processes import Web, wait_until

pytestmark = [pytest.mark.proves("Threads and messages"), pytest.mark.django_db(transaction=True)]

LONG = 300  # how long the model hangs, in seconds
SOON = 60  # timeout in seconds for requests that call no model; allows for a busy machine


@pytest.fixture
def model() -> Iterator[HeldModel]:
    with HeldModel("At last.", patience=LONG) as server:
        yield server


@pytest.fixture
def thread(chatbot: Chatbot, model: HeldModel) -> Thread:
    """A thread of a chatbot whose model replies only once `model.ready` is set."""
    row = LlmModel.objects.create(provider="openai", title="Slow", base_url=model.base_url)
    GeneralSettings.objects.update(llm_model=row)
    return ThreadFactory(chatbot=chatbot)


SENDS = 200  # number of messages sent at the same time, four times WEB_THREADS
ONE = {"WEB_WORKERS": "1", "WEB_THREADS": "50", "RATE_LIMIT_IP": "off", "RATE_LIMIT_USER": "off"}
PLACES = 20  # maximum number of an account's replies in flight if WEB_THREADS is 50


class Senders:
    """Sends messages at the same time, each in its own thread, and collects the responses."""

    def __init__(self, address: str, api: Api, count: int, **headers: str) -> None:
        self.answers: list[requests.Response] = []
        known = {"Authorization": f"Bearer {api.key}", **headers}

        def send() -> None:
            body = {"content": "Hello"}
            self.answers.append(requests.post(address, json=body, headers=known, timeout=LONG))

        self.threads = [threading.Thread(target=send) for _ in range(count)]
        for thread in self.threads:
            thread.start()

    def statuses(self) -> list[int]:
        return [answer.status_code for answer in [*self.answers]]

    def join(self) -> list[int]:
        for thread in self.threads:
            thread.join()
        return sorted(self.statuses())


@pytest.mark.slow
@pytest.mark.parametrize(
    "header", [pytest.param({}, marks=pytest.mark.slow), {"Idempotency-Key": "one-for-all"}]
)
def test_a_hanging_model_uses_up_only_the_places_of_its_own_account(
    api: Api, stranger: Api, thread: Thread, model: Any, header: dict[str, str]
) -> None:
    escalated = ThreadFactory(chatbot=thread.chatbot, escalated=True)
    with Web(LLM_TIMEOUT=str(LONG), **ONE) as web:
        chatting = f"{web.address}/api/v1/chatting/{thread.chatbot_id}/thread"
        senders = Senders(f"{chatting}/{thread.pk}/message", api, SENDS, **header)
        wait_until(lambda: len(senders.statuses()) == SENDS - PLACES, told=web.said)
        wait_until(lambda: len(model.arrivals) == (1 if header else PLACES), told=web.said)
        for key, path in [(api, "/api/v1/chatbots"), (stranger, "/api/v1/chatbots")] * 5:
            known = {"Authorization": f"Bearer {key.key}"}
            assert requests.get(web.address + path, headers=known, timeout=SOON).ok
            assert requests.get(f"{web.address}/healthz", timeout=SOON).ok
        known = {"Authorization": f"Bearer {api.key}"}
        asked = requests.post(
            f"{chatting}/{escalated.pk}/message", json={"content": "?"}, headers=known, timeout=SOON
        )
        assert asked.status_code == 200  # without calling a model
        refusal = senders.answers[0]
        stored = Message.objects.filter(thread=thread).count()
        used = Usage.objects.get().messages
        model.ready.set()
        assert senders.join() == [200] * PLACES + [429] * (SENDS - PLACES)
    assert stored == len(model.arrivals)
    assert used == stored + 1
    assert refusal.headers["Retry-After"] == "1"
    assert refusal.json() == {
        "success": False,
        "message": "too many requests",
        "retryAfter": 1,
        "limit": PLACES,
        "remaining": 0,
        "windowSeconds": 1,
    }


@pytest.mark.slow
def test_many_accounts_together_leave_threads_free(
    api: Api, thread: Thread, model: Any, default_model: Any
) -> None:
    slow = GeneralSettings.objects.get(chatbot=thread.chatbot).llm_model
    others = [ThreadFactory(chatbot=ChatbotFactory()) for _ in range(3)]
    GeneralSettings.objects.update(llm_model=slow)
    with Web(LLM_TIMEOUT=str(LONG), **ONE) as web:
        senders = [
            Senders(
                f"{web.address}/api/v1/chatting/{one.chatbot_id}/thread/{one.pk}/message",
                caller(one.chatbot.account.owner),
                SENDS // 4,
            )
            for one in [thread, *others]
        ]
        wait_until(lambda: sum(len(one.statuses()) for one in senders) == SENDS - 40)
        wait_until(lambda: len(model.arrivals) == 40, told=web.said)
        assert requests.get(f"{web.address}/healthz", timeout=SOON).ok
        model.ready.set()
        assert (
            sorted(chain.from_iterable(one.join() for one in senders)) == [200] * 40 + [429] * 160
        )
