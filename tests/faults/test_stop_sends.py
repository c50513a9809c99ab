"""An ordinary stop fails no message that is waiting for its reply, and loses none."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connections

from chatbots.models import GeneralSettings, LlmModel
from conversations.models import Message, Thread
from tests.conftest import Api
from tests.factories.conversations import ThreadFactory
from tests.faults.test_waiting import Senders
from tests.patience import PATIENCE
from tests.servers.model import HeldModel
from tests.servers.processes import Web, Worker, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]
SENDS = 12


class Serve(Web):
    """Web and a worker, as `make run` starts them."""

    command = ("manage.py", "serve")


@pytest.fixture
def model() -> Iterator[HeldModel]:
    with HeldModel("At last.", patience=PATIENCE) as server:
        yield server


@pytest.fixture
def threads(chatbot: object, model: HeldModel) -> list[Thread]:
    """Threads of a chatbot whose model replies only once `model.ready` is set."""
    row = LlmModel.objects.create(provider="openai", title="Slow", base_url=model.base_url)
    GeneralSettings.objects.update(llm_model=row)
    return [ThreadFactory(chatbot=chatbot) for _ in range(SENDS)]


def begin(web: Web, threads: list[Thread], api: Api, model: HeldModel) -> list[Senders]:
    """Send a message in each thread, and wait until the model has received all of them.

    This process then closes the database, so that only the service has it open.
    """
    paths = [f"/api/v1/chatting/{one.chatbot_id}/thread/{one.pk}/message" for one in threads]
    sends = [Senders(web.address + path, api, 1) for path in paths]
    wait_until(lambda: len(model.arrivals) == SENDS, told=web.said)
    connections.close_all()
    return sends


def check(web: Web, sends: list[Senders]) -> None:
    assert [status for each in sends for status in each.join()] == [200] * SENDS, web.said()
    assert web.wait() == 0
    assert "malformed" not in web.said()
    assert Message.objects.filter(content="At last.").count() == SENDS
    assert Message.objects.filter(content="Hello").count() == SENDS


@pytest.mark.parametrize("first", ["web", "worker"])
def test_web_and_worker_stop_with_sends_in_flight(
    api: Api, threads: list[Thread], model: HeldModel, first: str
) -> None:
    state = {"state_dir": settings.STATE_DIR} if settings.EMBEDDED else {}
    with Web(**state) as web, Worker(**state) as worker:
        wait_until(lambda: "is ready" in worker.said(), told=worker.said)
        sends = begin(web, threads, api, model)
        for process in (web, worker) if first == "web" else (worker, web):
            process.signal(signal.SIGTERM)
        assert worker.wait() == 0, worker.said()
        model.ready.set()
        check(web, sends)


def test_serve_stops_with_sends_in_flight(
    api: Api, threads: list[Thread], model: HeldModel, tmp_path: Path
) -> None:
    with Serve(TEST_STATIC_ROOT=str(tmp_path / "static" / "collected")) as serve:
        wait_until(lambda: "Press Ctrl-C" in serve.said(), told=serve.said)
        sends = begin(serve, threads, api, model)
        serve.signal(signal.SIGTERM)
        wait_until(lambda: "running tasks have finished" in serve.said(), told=serve.said)
        model.ready.set()
        check(serve, sends)
