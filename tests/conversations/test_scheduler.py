"""A worker's scheduler finds due work of every kind and publishes its tasks."""

from collections import Counter
from datetime import datetime, timedelta
from typing import Any

import psycopg
import pytest
from celery import Celery
from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone

from accounts import mail_queue
from accounts import tasks as account_tasks
from accounts.models import Mail
from config.database.ids import new_id
from config.models import PeriodicWork
from config.models import Worker as WorkerRow
from config.runtime.periodic import periodic
from conversations import scheduler
from conversations.models import OwedReply
from conversations.scheduler import PERIODIC, Scheduler, acting
from tests.factories.accounts import AccountFactory
from tests.factories.conversations import MessageFactory, ThreadFactory
from tests.factories.webhooks import DeliveryFactory, EndpointFactory
from tests.servers import certificates
from tests.servers.behaviors import answer
from tests.servers.mail import MailServer
from tests.servers.processes import Worker, free_port, wait_until
from tests.servers.receiver import Receiver
from tests.webhooks.engine.steps import claim
from webhooks import tasks as webhook_tasks
from webhooks.engine.queue import now
from webhooks.models import Attempt, Delivery, Endpoint

TRANSPORT = {"socket_connect_timeout": 2, "socket_timeout": 2}


@pytest.fixture
def endpoint(receiver: Receiver) -> Endpoint:
    return EndpointFactory(url=receiver.url("/hook"), last_success_at=timezone.now())


def add_mail(account: Any = None) -> Mail:
    account = account or AccountFactory()
    return Mail.objects.create(account=account, to="kim@example.com", subject="A", body="B")


def all_work_is_done() -> bool:
    """Return whether all periodic work has been done and is scheduled again."""
    done = PeriodicWork.objects.filter(due_at__gt=timezone.now(), claimed_until=None)
    return done.count() == len(PERIODIC)


class TestWorker:
    """A running worker does all kinds of work."""

    pytestmark = pytest.mark.django_db(transaction=True)

    def test_it_sends_emails_and_does_periodic_work(self) -> None:
        bad = AccountFactory()
        for _ in range(5):  # more emails than a worker sends at once
            Mail.objects.create(account=bad, to="x@example.com", subject="\x0cBcc: y", body="B")
        add_mail()
        with MailServer() as server, Worker(EMAIL_URL=f"smtp://127.0.0.1:{server.port}") as worker:
            wait_until(lambda: Mail.objects.filter(state="SENT").exists(), told=worker.said)
            failed = Mail.objects.filter(account=bad, state="FAILED", tries=1)
            wait_until(lambda: failed.count() == 5, told=worker.said)
            wait_until(all_work_is_done, told=worker.said)
            assert len(server.mails) == 1

    @pytest.mark.slow
    def test_deliveries_and_emails_are_held_until_sending_is_on_again(
        self, receiver: Receiver, endpoint: Endpoint
    ) -> None:
        add_mail()
        DeliveryFactory(chatbot=endpoint.chatbot)
        DeliveryFactory(chatbot=endpoint.chatbot, is_test=True)
        DeliveryFactory(chatbot=endpoint.chatbot, state="FAILED", due_at=now())  # a manual retry
        held = list(Delivery.objects.order_by("pk").values())
        with MailServer() as server:
            environment = {"EMAIL_URL": f"smtp://127.0.0.1:{server.port}"}
            with Worker(SENDING="off", **environment) as worker:
                wait_until(all_work_is_done, told=worker.said)
                assert "SENDING=off" in worker.said()
            assert list(Delivery.objects.order_by("pk").values()) == held
            assert not (server.mails or receiver.arrivals)
            with Worker(state_dir=worker.state_dir, **environment) as worker:
                receiver.wait_for(3)
                wait_until(lambda: server.mails, told=worker.said)

    @pytest.mark.skipif(settings.EMBEDDED, reason="the embedded default has one worker")
    def test_two_workers_share_the_deliveries_and_send_each_once(self) -> None:
        with Receiver(certificates.good()) as receiver:
            receiver.on("/hook", answer(delay=0.05))
            endpoints = [
                EndpointFactory(
                    url=receiver.url("/hook"), last_success_at=timezone.now(), attempts_limit=64
                )
                for _ in range(10)
            ]
            with Worker(slots=8) as one, Worker(slots=8):
                wait_until(lambda: WorkerRow.objects.alive().count() == 2, told=one.said)
                with transaction.atomic():
                    for endpoint in endpoints:
                        DeliveryFactory.create_batch(24, chatbot=endpoint.chatbot)
                succeeded = Delivery.objects.filter(state="SUCCESS")
                busy, most = Counter[str](), 0

                def done() -> bool:
                    nonlocal most
                    running = Delivery.objects.exclude(claimed_by="")
                    names = list(running.values_list("claimed_by", flat=True))
                    busy.update(names)
                    most = max(most, len(names))
                    return succeeded.count() == 240

                wait_until(done, told=one.said)
            assert len(receiver.arrivals) == Attempt.objects.count() == 240
        assert len(busy) == 2 and most <= 16


@pytest.mark.django_db(transaction=True)
def test_a_task_that_begins_while_sending_is_off_releases_its_claim(
    receiver: Receiver, endpoint: Endpoint, settings: Any
) -> None:
    DeliveryFactory(chatbot=endpoint.chatbot)
    add_mail()
    [claimed], [mail] = claim(), mail_queue.claim(4)
    settings.SENDING = False
    webhook_tasks.deliver(str(claimed.claim), *map(str, claimed.delivery_ids))
    account_tasks.send_mail(*mail)
    assert Delivery.objects.filter(state="PENDING", claim=None, due_at__isnull=False).exists()
    assert Mail.objects.filter(claimed_until=None, due_at__isnull=False, tries=0).exists()
    assert not receiver.arrivals


@pytest.fixture
def one_of_each(transactional_db: None, endpoint: Endpoint) -> None:
    """Create a due delivery, email, owed reply and periodic work."""
    DeliveryFactory(chatbot=endpoint.chatbot)
    add_mail(endpoint.chatbot.account)
    ended = now() - timedelta(seconds=1)
    message = MessageFactory(thread=ThreadFactory(chatbot=endpoint.chatbot))
    OwedReply.objects.create(message=message, claim=new_id(), claimed_until=ended)
    PeriodicWork.objects.add(["prune mails"])


def made(broker: str) -> Scheduler:
    """Return a scheduler that publishes to another broker."""
    other = Celery("other", broker=broker, broker_transport_options=TRANSPORT)
    return Scheduler(other, name="worker@test", threads=8)


def claims() -> int:
    """Count the claims that are held."""
    count = sum(
        model.objects.exclude(claim=None).count() for model in (Delivery, Mail, PeriodicWork)
    )
    return count + OwedReply.objects.filter(claimed_until__gt=now()).count()


@pytest.mark.usefixtures("one_of_each")
def test_without_its_broker_a_scheduler_claims_nothing_for_long() -> None:
    one = made(f"redis://127.0.0.1:{free_port()}/0")
    one.see_workers()
    for find in (one.find_deliveries, one.find_mails, one.find_replies, one.find_periodic_work):
        with pytest.raises(scheduler.BrokerError):
            one.act(find)
        assert claims() == 0


@pytest.mark.skipif(settings.EMBEDDED, reason="the embedded default has one scheduler")
@pytest.mark.usefixtures("one_of_each")
def test_only_one_scheduler_claims_at_a_time() -> None:
    with psycopg.connect(**connection.get_connection_params()) as session:
        session.execute("SELECT pg_advisory_xact_lock(%s)", [scheduler.LOCK])
        with acting() as ours:
            assert not ours
        assert made("memory://").act(lambda: pytest.fail("another scheduler acts")) == 0
    with acting() as ours:
        assert ours


class TestPeriodicWork:
    """The rows that schedule periodic work. A row can be claimed by only one process at a time."""

    pytestmark = pytest.mark.django_db

    def test_unfinished_work_is_claimed_again(self) -> None:
        PeriodicWork.objects.add(["sweep"])
        [(name, lost)] = PeriodicWork.objects.claim()
        PeriodicWork.objects.update(claimed_until=timezone.now() - timedelta(seconds=1))
        [(name, claim)] = PeriodicWork.objects.claim()
        assert PeriodicWork.objects.confirm(name, lost) is None
        PeriodicWork.objects.release(name, lost)
        assert PeriodicWork.objects.claim() == [], "a lost claim changes nothing"
        PeriodicWork.objects.release(name, claim)
        assert len(PeriodicWork.objects.claim()) == 1

    def test_work_that_raises_an_error_is_due_again_soon(self) -> None:
        @periodic("sweep")
        def stumble() -> datetime:
            raise ZeroDivisionError

        PeriodicWork.objects.add(["sweep"])
        [(_, claim)] = PeriodicWork.objects.claim()
        with pytest.raises(ZeroDivisionError):
            stumble(claim)
        row = PeriodicWork.objects.get()
        assert row.claim is None
        assert row.due_at - timezone.now() <= timedelta(minutes=1)
