"""An alert fires if, and only if, its fault occurs in a real service.

The metrics of a web process and a worker are scraped before and during a fault. Then promtool
evaluates the alert rules as if the fault had continued after the last scrape. Each test lists the
alerts that must fire. No other alerts may fire, except during a database outage.
"""

import contextlib
from collections.abc import Iterator, Set
from datetime import timedelta

import pytest
import requests
from django.conf import settings

from accounts.models import Mail
from chatbots.models import LlmModel
from config.database.ids import new_id
from config.models import PeriodicWork, Worker
from conversations import tasks
from conversations.models import LedgerCheck, OwedReply
from tests.factories import bulk
from tests.factories.conversations import MessageFactory
from tests.groups import needs
from tests.patience import PATIENCE
from tests.servers import certificates, prometheus
from tests.servers.behaviors import answer, stall
from tests.servers.broker import Broker
from tests.servers.mail import MailServer
from tests.servers.model import ModelServer, failing
from tests.servers.processes import Web, wait_until
from tests.servers.prometheus import Scrape, firing
from tests.servers.receiver import Receiver
from tests.servers.site import LIMITS, Site, Talk, all_settled, away, figure, now
from webhooks.models import Delivery

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(scope="module")
def site(django_db_setup: None) -> Iterator[Site]:
    needs("promtool")  # skip here, because a skip during a test could leave the worker stopped
    with (
        Broker() as broker,
        Receiver(certificates.good()) as receiver,
        ModelServer() as model,
        MailServer() as mails,
    ):
        site = Site(broker, receiver, model, mails)
        with site.web, contextlib.ExitStack() as stack:
            stack.callback(lambda: site.worker.running and site.worker.kill())
            stack.callback(site.threads.shutdown)
            site.start_worker()
            yield site


@pytest.fixture(scope="module")
def other(django_db_setup: None) -> Iterator[Web]:
    """A second web process, which has SENDING=off and many threads."""
    with Web(WEB_WORKERS="1", WEB_THREADS="40", SENDING="off", **LIMITS) as web:
        yield web


@pytest.fixture
def talk(site: Site) -> Iterator[Talk]:
    talk = Talk(site)
    # The end of the previous test deleted the worker's row, which the worker soon writes again.
    wait_until(Worker.objects.alive().exists, told=site.worker.said)
    yield talk
    site.receiver.on("/hook", answer(200))
    wait_until(all_settled, told=site.worker.said)


def check(names: Set[str], *scrapes: Scrape) -> None:
    """Assert that exactly these alerts fire if the trend of the last two scrapes continues."""
    assert firing(*scrapes) == names


def test_nothing_fires_while_all_is_well(site: Site, talk: Talk) -> None:
    before = site.scrape()
    assert [talk.send().status_code for _ in range(3)] == [200] * 3
    wait_until(all_settled)
    wait_until(lambda: site.figure("chatbots_attempts_total") >= 6)
    after = site.scrape()
    check(set(), before, after)


def test_receivers_that_fail(site: Site, talk: Talk) -> None:
    site.receiver.on("/hook", answer(500))
    before = site.scrape()
    talk.deliver(3)
    wait_until(all_settled)
    check({"AttemptsFail"}, before, site.scrape())


def test_events_that_wait_long(site: Site, talk: Talk) -> None:
    before = site.scrape()
    talk.deliver(3, age=20)
    wait_until(all_settled)
    wait_until(lambda: site.figure("chatbots_deliveries_in_flight") == 0)
    check({"ArrivalSlow"}, before, site.scrape())


def test_a_model_that_fails(site: Site, talk: Talk) -> None:
    site.model.say(failing(400, {"code": "broken"}))
    before = site.scrape()
    assert talk.send().status_code == 200
    check({"RepliesFail"}, before, site.scrape())


def test_no_default_model(site: Site, talk: Talk) -> None:
    LlmModel.objects.update(is_default=False)
    before = site.scrape()
    assert talk.send().status_code == 200
    check({"NoDefaultModel"}, before, site.scrape())
    LlmModel.objects.filter(pk=talk.row.pk).update(is_default=True)


def test_emails_that_the_mail_server_refuses(site: Site, talk: Talk) -> None:
    site.mails.answers.append(b"550 no\r\n")
    before, ended = site.scrape(), site.figure("chatbots_mails_ended_total")
    Mail.objects.create(account=talk.chatbot.account, to="a@example.com", subject="s")
    wait_until(lambda: site.figure("chatbots_mails_ended_total") > ended, told=site.worker.said)
    check({"MailsFail"}, before, site.scrape())


@pytest.mark.slow
def test_gaps_in_the_ledger(site: Site, talk: Talk) -> None:
    before = site.scrape()
    MessageFactory(thread=talk.thread)  # the factory does not update the thread's counter
    PeriodicWork.objects.update_or_create(name=tasks.CHECK_LEDGER, defaults={"due_at": now()})
    wait_until(LedgerCheck.objects.exclude(finished_at=None).exists, told=site.worker.said)
    check({"LedgerGaps"}, before, site.scrape())


def test_a_ledger_that_is_not_checked(site: Site, talk: Talk) -> None:
    before = site.scrape()
    LedgerCheck.objects.create(finished_at=now() - timedelta(days=3))
    check({"LedgerNotChecked"}, before, site.scrape())


def test_no_worker(site: Site, talk: Talk) -> None:
    before = site.scrape()
    site.worker.kill()
    account = talk.chatbot.account
    old = now() - timedelta(seconds=300)
    Mail.objects.create(account=account, to="a@example.com", subject="s", due_at=old)
    OwedReply.objects.create(
        message=MessageFactory(thread=talk.thread), claim=new_id(), claimed_until=old
    )
    talk.deliver(1, age=300)
    bulk.copy(Delivery.objects.get(), 5_001, {"position": "s.n"})
    wait_until(lambda: site.figure("chatbots_workers") == 0)
    owed = {"DeliveriesLate", "Backlog", "MailsLate", "RepliesOverdue"}
    check({"ProcessDown", "NoWorker"} | owed, before, site.scrape())
    Delivery.objects.all().delete()
    Mail.objects.all().delete()
    site.start_worker()


def test_a_worker_that_dies(site: Site, talk: Talk) -> None:
    site.receiver.on("/hook", stall())
    before = site.scrape()
    site.receiver.arrivals.clear()
    talk.deliver(1)
    site.receiver.wait_for(1)
    site.worker.kill()
    site.receiver.on("/hook", answer(200))
    site.start_worker()
    wait_until(all_settled, told=site.worker.said)
    check({"WorkersDie"}, before, site.scrape())


@pytest.mark.skipif(settings.EMBEDDED, reason="the embedded default has no server")
def test_an_unreachable_database(site: Site, talk: Talk) -> None:
    before = site.scrape()
    path = "/v1/chatbots/my-chatbots"
    with away():
        wait_until(lambda: talk.call("GET", path).status_code == 503)
        wait_until(lambda: site.figure("chatbots_database_up") == 0)
        during = site.scrape()
        assert talk.call("GET", path).status_code == 503
        for _ in range(100):  # successful probes must not mask the failing requests
            assert requests.get(f"{site.web.address}/healthz", timeout=PATIENCE).status_code == 200
        after = site.scrape()
    wait_until(lambda: talk.call("GET", path).status_code == 200)
    assert firing(before, during, after) >= {"DatabaseDown", "ServerErrors"}


@pytest.mark.slow
def test_sending_switched_off(other: Web, talk: Talk) -> None:
    scrape = prometheus.scrape([other.address])
    check({"SendingOff"}, scrape, scrape)


@pytest.mark.skipif(settings.EMBEDDED, reason="the embedded default has no pool")
def test_too_few_connections(other: Web, talk: Talk) -> None:
    """Raise the waits in the scrape, because the gates let in fewer requests than the pool."""
    before = prometheus.scrape([other.address])
    waits = [key for key in before if key[0] == "chatbots_database_pool_wait_seconds_total"]
    assert waits
    check({"SendingOff", "PoolExhausted"}, before, before | {waits[0]: 60.0})


def test_an_unreachable_cache(site: Site, talk: Talk) -> None:
    before = site.scrape()
    site.broker.kill()
    # The web process checks the cache to answer this request.
    requests.get(f"{site.web.address}/readyz", timeout=PATIENCE)
    wait_until(lambda: figure(prometheus.scrape([site.web.address]), "chatbots_cache_up") == 0)
    check({"CacheDown"}, before, site.scrape())
