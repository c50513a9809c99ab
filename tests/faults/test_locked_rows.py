"""If another PostgreSQL session keeps rows locked, only work on those rows has to wait.

This happens, for example, when a transaction is left open by mistake. In each test, deliveries
that need other rows continue, and no work is done twice.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.utils import timezone

from accounts.models import Mail
from chatbots.models import GeneralSettings, LlmModel
from config.database.ids import new_id
from conversations.models import Message, OwedReply, Thread
from conversations.models.message import MessageType
from tests.factories.accounts import AccountFactory
from tests.factories.conversations import MessageFactory, ThreadFactory
from tests.factories.webhooks import DeliveryFactory
from tests.patience import PATIENCE
from tests.servers.locks import locked
from tests.servers.mail import MailServer
from tests.servers.model import HeldModel
from tests.servers.processes import Worker, wait_until
from tests.servers.receiver import Receiver
from webhooks.models import Endpoint

pytestmark = [
    pytest.mark.proves("Delivery rules"),
    pytest.mark.skipif(settings.EMBEDDED, reason="SQLite has no row locks"),
]
HELD = 10.0  # how long rows stay locked, in seconds; longer than an owed reply's lease
SOON = 9.0  # maximum seconds per delivery; allows for a busy machine, but is less than HELD
DUE = timedelta(seconds=2)  # delay until the locked rows are due; gives the worker time to start


class HeldMailServer(MailServer):
    """A mail server that does not respond until `ready` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.ready = threading.Event()

    def converse(self, *streams: Any) -> None:
        self.ready.wait(PATIENCE)
        super().converse(*streams)


class Service:
    """A worker with a mail server and a model.

    `slowest` is the time that the slowest delivery took, in seconds.
    """

    def __init__(self, receiver: Receiver, endpoint: Endpoint, stack: ExitStack) -> None:
        self.receiver, self.endpoint, self.stack = receiver, endpoint, stack
        self.mails = self.enter(HeldMailServer())
        self.model = self.enter(HeldModel("Here.", patience=PATIENCE))
        self.slowest = 0.0

    def enter(self, entered: AbstractContextManager[Any]) -> Any:  # Any: the entered value
        return self.stack.enter_context(entered)

    def start(self) -> Worker:
        worker = Worker(EMAIL_URL=f"smtp://127.0.0.1:{self.mails.port}")
        self.worker: Worker = self.enter(worker)
        self.deliver()
        self.slowest = 0.0
        return self.worker

    def deliver(self) -> None:
        """Create a delivery and wait until it arrives."""
        began, count = time.monotonic(), len(self.receiver.arrivals)
        DeliveryFactory(chatbot=self.endpoint.chatbot)
        self.receiver.wait_for(count + 1, 60)
        self.slowest = max(self.slowest, time.monotonic() - began)

    def deliver_for(self, seconds: float) -> None:
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            self.deliver()

    def wait_until(self, fact: Callable[[], Any]) -> None:
        wait_until(fact, 60, told=self.worker.said)

    def goes_on(self) -> None:
        """Assert that deliveries were not held up, and that the worker is still running."""
        assert self.slowest < SOON, self.worker.said()
        assert self.worker.running.poll() is None


@pytest.fixture
def service(receiver: Receiver, endpoint: Endpoint) -> Iterator[Service]:
    with ExitStack() as stack:
        yield Service(receiver, endpoint, stack)


def mail(**fields: Any) -> Mail:
    made = {"account": AccountFactory(), "to": "kim@example.com", "subject": "A", "body": "B"}
    return Mail.objects.create(**made | fields)


def sent() -> int:
    return Mail.objects.filter(state="SENT").count()


def test_an_email_that_is_locked_while_it_is_sent_is_sent_once(service: Service) -> None:
    mail()
    service.start()
    service.wait_until(lambda: Mail.objects.filter(tries=1).exists())
    with locked(Mail.objects.all()):
        service.mails.ready.set()
        service.deliver_for(HELD)
    service.wait_until(lambda: sent() == 1)
    service.goes_on()
    assert len(service.mails.mails) == 1


@pytest.fixture
def thread(service: Service, default_model: Any) -> Thread:
    row = LlmModel.objects.create(provider="openai", title="Held", base_url=service.model.base_url)
    GeneralSettings.objects.update(llm_model=row)
    service.model.say(service.model.held)
    return ThreadFactory(chatbot=service.endpoint.chatbot)


def owed(thread: Thread, *, after: timedelta = timedelta(0)) -> Message:
    message = MessageFactory(thread=thread)
    OwedReply.objects.create(message=message, claim=new_id(), claimed_until=timezone.now() + after)
    return message


def replies() -> int:
    return Message.objects.filter(message_type=MessageType.AI_MESSAGE).count()


def test_a_reply_that_is_locked_while_it_is_generated_is_generated_once(
    service: Service, thread: Thread
) -> None:
    message = owed(thread)
    owed(ThreadFactory(chatbot=thread.chatbot))
    service.start()
    service.wait_until(lambda: len(service.model.arrivals) == 2)
    with locked(OwedReply.objects.filter(pk=message.pk)):
        service.deliver_for(HELD)
        service.model.ready.set()
        service.deliver_for(HELD / 4)
        assert replies() == 1
    service.wait_until(lambda: replies() == 2)
    service.goes_on()
    assert len(service.model.arrivals) == 2
    assert not OwedReply.objects.exists()
