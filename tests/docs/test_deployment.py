"""The restore commands in docs/deployment.md mark unfinished deliveries and emails as FAILED."""

import re
from typing import Any

import pytest

from accounts.models import Mail
from chatbots.models import Chatbot
from conversations import ledger
from tests.factories.accounts import AccountFactory
from tests.factories.webhooks import DeliveryFactory, EndpointFactory
from tests.servers import certificates
from tests.servers.processes import ROOT
from tests.servers.receiver import Receiver
from tests.webhooks.engine import steps
from webhooks.models import Delivery
from webhooks.models.retry_job import JobState
from webhooks.services import retry, retry_job
from webhooks.services.selection import Selection

pytestmark = pytest.mark.django_db(transaction=True)


def restore() -> None:
    """Run the programs that the document passes to `manage.py shell -c`."""
    text = (ROOT / "docs" / "deployment.md").read_text()
    for program in re.findall(r'^ +python manage\.py shell -c "(.*)"$', text, re.M):
        exec(program, {})


def test_nothing_is_due_after_a_restore_and_the_ledger_has_no_gap(
    receiver: Receiver, chatbot: Chatbot, settings: Any
) -> None:
    settings.WEBHOOK_CA_BUNDLE = certificates.ca_file()
    EndpointFactory(chatbot=chatbot, url=receiver.url("/hook"), attempts_limit=8)
    receiver.on("/hook", steps.BROKEN)
    retrying, in_flight, retried = DeliveryFactory.create_batch(3, chatbot=chatbot)
    settings.WEBHOOK_RETRY_DELAYS = (60.0,)
    steps.run()
    settings.WEBHOOK_RETRY_DELAYS = ()
    steps.make_due(retried)
    steps.run()
    retry.retry(Delivery.objects.filter(pk=retried.pk), by="staff")
    steps.make_due(in_flight)
    assert len(steps.begin()) == 2
    pending = DeliveryFactory(chatbot=chatbot)
    Mail.objects.create(account=AccountFactory(), to="a@example.com", subject="s", body="b")
    restore()
    assert not Delivery.objects.exclude(state="FAILED", due_at=None, claim=None).exists()
    assert not Mail.objects.exclude(state="FAILED", due_at=None).exists()
    assert steps.stored(pending)["last_reason"] == "GIVEN_UP"
    assert steps.states(retrying) == [(1, "RETRYING"), (2, "FAILED")]
    gaps: dict[str, ledger.Gaps] = {}
    list(ledger.check(gaps))
    assert not any(one.count for one in gaps.values())
    assert retry.retry(Delivery.objects.all(), by="staff") == 4


def test_a_bulk_retry_waits_after_a_restore_until_it_is_resumed(chatbot: Chatbot) -> None:
    EndpointFactory(chatbot=chatbot)
    failed = DeliveryFactory(chatbot=chatbot, state="FAILED", due_at=None, attempts_count=1)
    job = retry_job.start(Selection(), None, per_second=1, by="staff")
    restore()
    retry_job.advance()
    assert not steps.stored(failed)["due_at"]
    job.refresh_from_db()
    assert (job.state, job.stopped_by) == (JobState.STOPPED, "an operator")
    retry_job.resume(job)
    retry_job.advance()
    assert steps.stored(failed)["due_at"]
