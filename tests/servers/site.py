"""An installation whose metrics are scraped while its components fail."""

import contextlib
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import psycopg
import requests
from django.db import connection
from django.utils import timezone

from accounts.services import api_key
from chatbots.models import Chatbot, LlmModel
from conversations.models import Thread
from tests.factories.chatbots import ChatbotFactory
from tests.factories.conversations import ThreadFactory
from tests.factories.webhooks import DeliveryFactory, EndpointFactory
from tests.patience import PATIENCE
from tests.servers import prometheus
from tests.servers.behaviors import answer
from tests.servers.broker import Broker
from tests.servers.mail import MailServer
from tests.servers.model import ModelServer, saying
from tests.servers.processes import Web, Worker, free_port, wait_until
from tests.servers.prometheus import Scrape
from tests.servers.receiver import Receiver
from webhooks.models import Delivery

TIMEOUT = 3.0  # seconds per delivery attempt
LIMITS = {"RATE_LIMIT_IP": "off", "RATE_LIMIT_USER": "off", "TEST_METRICS_FRESH": "0"}


class Site:
    """An installation's web and worker processes, with a receiver, a model and a mail server."""

    def __init__(
        self, broker: Broker, receiver: Receiver, model: ModelServer, mails: MailServer
    ) -> None:
        self.broker, self.receiver, self.model, self.mails = broker, receiver, model, mails
        port = free_port()
        self.web = Web(WEB_WORKERS="1", WEB_THREADS="2", REDIS_URL=broker.url, **LIMITS)
        self.worker = Worker(
            slots=8,
            state_dir=self.web.state_dir,
            REDIS_URL=broker.url,
            EMAIL_URL=f"smtp://127.0.0.1:{mails.port}",
            METRICS_PORT=str(port),
            WEBHOOK_TIMEOUT=str(TIMEOUT),
            WEBHOOK_RETRY_DELAYS="0.1,0.1,0.1",
        )
        self.worker_address = f"http://127.0.0.1:{port}"
        self.threads = ThreadPoolExecutor(8)

    def scrape(self) -> Scrape:
        return prometheus.scrape([self.web.address, self.worker_address])

    def start_worker(self) -> None:
        self.worker.start()
        wait_until(lambda: prometheus.page_of(self.worker_address), told=self.worker.said)

    def figure(self, name: str) -> float:
        """Return the sum of a metric over the web process and the worker."""
        return figure(self.scrape(), name)


def figure(scrape: Scrape, name: str) -> float:
    """Add up all series of a metric."""
    return sum(value for (key, _), value in scrape.items() if key == name)


class Talk:
    """A chatbot that has a webhook and a thread. Its methods send messages and store deliveries."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.row = LlmModel.objects.create(
            provider="openai", title="Test", base_url=site.model.base_url, is_default=False
        )
        LlmModel.objects.update(is_default=False)
        LlmModel.objects.filter(pk=self.row.pk).update(is_default=True)
        self.chatbot: Chatbot = ChatbotFactory()
        url = site.receiver.url("/hook")
        EndpointFactory(chatbot=self.chatbot, url=url, attempts_limit=64, last_success_at=now())
        self.thread: Thread = ThreadFactory(chatbot=self.chatbot)
        self.key = api_key.issue(self.chatbot.account.owner)[1]
        site.receiver.on("/hook", answer(200))
        site.model.say(saying("Hello."))

    def call(
        self, method: str, path: str, body: Any = None, *, address: str = ""
    ) -> requests.Response:
        return requests.request(
            method,
            f"{address or self.site.web.address}/api{path}",
            json=body,
            headers={"Authorization": f"Bearer {self.key}"},
            timeout=PATIENCE,
        )

    def send(self) -> requests.Response:
        path = f"/v1/chatting/{self.chatbot.pk}/thread/{self.thread.pk}/message"
        return self.call("POST", path, {"content": "Hello?"})

    def later(self, call: Callable[[], Any]) -> "Future[Any]":
        return self.site.threads.submit(call)

    def deliver(self, count: int = 1, *, age: float = 0.0) -> None:
        """Store deliveries that have been due for `age` seconds."""
        due_at = now() - timedelta(seconds=age)
        for _ in range(count):
            DeliveryFactory(chatbot=self.chatbot, due_at=due_at)
        Delivery.objects.filter(due_at=due_at).update(created_at=due_at)


def now() -> Any:
    return timezone.now()


def all_settled() -> bool:
    return not Delivery.objects.filter(due_at__isnull=False).exists()


@contextlib.contextmanager
def away() -> Iterator[None]:
    """Refuse all connections to the test database, and close the existing ones."""
    name, parameters = connection.settings_dict["NAME"], connection.get_connection_params()
    connection.close()
    connection.close_pool()  # type: ignore[attr-defined] # PostgreSQL's
    with psycopg.connect(**parameters | {"dbname": "postgres"}, autocommit=True) as server:
        server.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS false')
        server.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name]
        )
        try:
            yield
        finally:
            server.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS true')
