"""Exactly one reply is stored, even if a web process stops, halts or loses its database.

The failures happen during a model call. A reply is owed from the moment the visitor's message is
stored. If the web process cannot store the reply, a worker generates it. If the client repeats the
request first, the web process that receives the repeated request generates the reply.
"""

import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
import requests
from django.conf import settings
from django.utils import timezone

from accounts.models import StoredAnswer, Usage
from accounts.services import api_key
from chatbots.models import GeneralSettings, LlmModel
from conversations.models import Message, OwedReply, Thread
from conversations.models.message import MessageType
from tests.factories.conversations import ThreadFactory
from tests.factories.webhooks import EndpointFactory
from tests.groups import needs
from tests.patience import PATIENCE
from tests.servers import postgres
from tests.servers.behaviors import Arrival, Step, answer
from tests.servers.model import HeldModel, saying
from tests.servers.processes import Web, Worker, wait_until
from tests.servers.receiver import Receiver
from tests.tools.soak.ground import servers
from webhooks.models import Delivery

pytestmark = pytest.mark.proves("Threads and messages")

FALLBACK = "Please ask again later."
SECONDS = 20.0  # maximum time until a worker stores the reply, even on a busy machine


@pytest.fixture
def model() -> Iterator[HeldModel]:
    """A model that delays its first reply until `ready` is set, and sends later replies at once."""
    with HeldModel("First.", saying("Second."), patience=PATIENCE) as server:
        yield server


@pytest.fixture
def thread(transactional_db: None, default_model: Any, model: HeldModel) -> Thread:
    """A thread of a bot that has a webhook and uses `model`."""
    endpoint = EndpointFactory(url="https://127.0.0.1:9/hook")
    row = LlmModel.objects.create(provider="openai", title="Slow", base_url=model.base_url)
    GeneralSettings.objects.update(llm_model=row, fallback_message=FALLBACK)
    return ThreadFactory(chatbot=endpoint.chatbot)


class Caller:
    """Sends messages to web processes from a thread pool."""

    def __init__(self, thread: Thread, pool: ThreadPoolExecutor) -> None:
        self.path = f"/api/v1/chatting/{thread.chatbot_id}/thread/{thread.pk}/message"
        self.key = api_key.issue(thread.chatbot.account.owner)[1]
        self.pool = pool

    def send(self, web: Web, name: str = "") -> "Future[requests.Response]":
        headers = {"Authorization": f"Bearer {self.key}"}
        headers |= {"Idempotency-Key": name} if name else {}
        url, body = f"{web.address}{self.path}", {"content": "Hello?"}
        return self.pool.submit(requests.post, url, json=body, headers=headers, timeout=PATIENCE)


@pytest.fixture
def caller(thread: Thread) -> Iterator[Caller]:
    with ThreadPoolExecutor(4) as pool:
        yield Caller(thread, pool)


def replies() -> list[str]:
    """Return the texts of all replies, and assert that there is one event per message."""
    rows = Message.objects.filter(message_type=MessageType.AI_MESSAGE)
    said = list(rows.values_list("content", flat=True))
    assert Delivery.objects.count() == Message.objects.count()
    return said


@pytest.mark.parametrize(
    ("then", "expected"),
    [
        (saying("Second."), "Second."),
        pytest.param(answer(500, b"broken"), FALLBACK, marks=pytest.mark.slow),
    ],
    ids=["the model's reply", "the fallback"],
)
def test_a_worker_generates_the_reply_of_a_killed_web_process(
    caller: Caller, model: HeldModel, then: Any, expected: str
) -> None:
    model.say(model.held, then)
    with Worker() as worker:
        with Web() as doomed:
            sent = caller.send(doomed)
            wait_until(lambda: model.arrivals, told=doomed.said)
            doomed.kill()
            killed = time.monotonic()
        assert isinstance(sent.exception(PATIENCE), requests.ConnectionError)
        wait_until(lambda: not OwedReply.objects.exists(), told=worker.said)
        assert time.monotonic() - killed < SECONDS
    assert replies() == [expected]
    assert Usage.objects.get().messages == 1


@pytest.mark.slow
def test_a_web_process_that_is_asked_to_stop_finishes_its_sends(
    caller: Caller, model: HeldModel
) -> None:
    # Start only one process. A second one could still be starting and miss the signal.
    with Web(WEB_WORKERS="1") as web:
        sent = caller.send(web)
        wait_until(lambda: model.arrivals, told=web.said)
        web.signal(signal.SIGTERM)
        wait_until(lambda: not web.answers(), told=web.said)  # no longer accepts connections
        model.ready.set()
        assert sent.result(PATIENCE).json()["data"]["messages"][1]["content"] == "First."
        assert web.wait() == 0
    assert replies() == ["First."]
    assert not OwedReply.objects.exists()


def lapse() -> None:
    """Make every lease expire now.

    This saves time: the lease of a halted process would expire anyway, but only later.
    """
    past = timezone.now() - timedelta(seconds=1)
    StoredAnswer.objects.update(claimed_until=past)
    OwedReply.objects.update(claimed_until=past)


@pytest.mark.slow
@pytest.mark.parametrize("ended", [True, False], ids=["after", "before"])
def test_a_halted_process_returns_the_reply_of_the_web_process_that_took_over(
    caller: Caller, model: HeldModel, ended: bool
) -> None:
    """The halted process resumes either before or after the other process stores the reply."""
    second = threading.Event()

    def slowly(arrival: Arrival) -> Iterator[Step]:
        second.wait(PATIENCE)
        yield from saying("Second.")(arrival)

    model.say(model.held, slowly)
    with Web() as halted, Web() as other:
        first = caller.send(halted, "k")
        wait_until(lambda: model.arrivals, told=halted.said)
        halted.signal_all(signal.SIGSTOP)
        lapse()
        again = caller.send(other, "k")
        wait_until(lambda: len(model.arrivals) == 2, told=other.said)
        model.ready.set()
        if ended:
            second.set()
            again.result(PATIENCE)
        halted.signal_all(signal.SIGCONT)
        if not ended:
            time.sleep(0.5)  # time for the resumed process to notice that it lost its lease
            assert not first.done()
            assert OwedReply.objects.filter(claimed_until__gt=timezone.now()).exists()
            second.set()
        answers = [one.result(PATIENCE) for one in (first, again)]
    assert [one.status_code for one in answers] == [200, 200]
    assert answers[0].content == answers[1].content
    assert replies() == ["Second."]
    assert Usage.objects.get().messages == 1


@pytest.mark.skipif(settings.EMBEDDED, reason="the embedded default has no server")
def test_a_reply_waits_until_the_database_is_back() -> None:
    needs("redis-server")
    if not postgres.programs():
        needs("initdb")
    with (
        HeldModel("First.", patience=PATIENCE) as model,
        Receiver() as receiver,
        servers() as ground,
    ):
        web, book = ground.web, ground.ledger
        plain = {"DJANGO_SETTINGS_MODULE": "config.settings"}  # the production timeouts
        web.environment |= plain | {"LLM_BASE_URL": model.base_url, "LLM_MODEL": "m"}
        made = ground.furnish([receiver.url("/hook")])
        for process in ground.processes:
            process.start()
        wait_until(web.answers, told=web.said)
        headers = {"Authorization": f"Bearer {made['key']}"}
        base = f"{web.address}/api/v1/chatting/{made['chatbots'][0]}"

        def post(path: str, body: Any) -> Any:
            return requests.post(f"{base}/{path}", json=body, headers=headers, timeout=PATIENCE)

        thread = post("threads", {}).json()["data"]["thread"]["id"]
        with ThreadPoolExecutor(1) as pool:
            sent = pool.submit(post, f"thread/{thread}/message", {"content": "Hello?"})
            wait_until(lambda: model.arrivals, told=web.said)
            assert ground.postgres
            ground.postgres.crash()
            model.ready.set()
            wait_until(lambda: "is not stored yet" in web.said(), told=web.said)
            ground.postgres.start()
            told = sent.result(PATIENCE).json()
        assert [one["content"] for one in told["data"]["messages"]] == ["Hello?", "First."]
        assert len(model.arrivals) == 1
        assert book.number("SELECT count(*) FROM conversations_message") == 2
        assert book.number("SELECT count(*) FROM conversations_owedreply") == 0
