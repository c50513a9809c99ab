"""Account owners get an email if a webhook keeps failing, and another when it works again."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from accounts.models import Account, Mail
from config.durations import ONE_HOUR
from config.outbound.failures import Reason
from tests.factories.webhooks import DeliveryFactory, EndpointFactory
from webhooks.models import Endpoint
from webhooks.notifications import tell_owners
from webhooks.services.endpoint import configure

pytestmark = pytest.mark.django_db
URL = "https://hooks.example.com/bots?token=hush-hush"
BEGAN = datetime(2026, 3, 1, 8, 30, tzinfo=UTC)
FAILS, WORKS = "the webhook has been failing", "the webhook works again"


def fails_for(length: timedelta = ONE_HOUR, **fields: Any) -> Endpoint:
    """Create a failing endpoint whose last failure was `length` after its first."""
    failing = {"failing_since": BEGAN, "last_failure_at": BEGAN + length, "failures_in_a_row": 7}
    return EndpointFactory(**{"url": URL} | failing | fields)


def works() -> None:
    since = BEGAN + 2 * ONE_HOUR
    Endpoint.objects.update(last_success_at=since, failing_since=None, failures_in_a_row=0)


def fails_anew() -> None:
    since = timezone.now()
    Endpoint.objects.update(failing_since=since, last_failure_at=since + 2 * ONE_HOUR)


def subjects() -> list[str]:
    """Check twice for outages, and return the main clause of each email's subject."""
    tell_owners()
    tell_owners()
    return [mail.subject.split(": ")[1].split(" since")[0] for mail in Mail.objects.order_by("id")]


@pytest.mark.parametrize(
    ("length", "mails"), [(ONE_HOUR, [FAILS]), (ONE_HOUR - timedelta(seconds=1), [])]
)
def test_a_webhook_must_have_failed_again_after_an_hour(
    length: timedelta, mails: list[str]
) -> None:
    fails_for(length)
    assert subjects() == mails


def test_an_outage_causes_one_email_and_its_end_another() -> None:
    fails_for()
    assert subjects() == [FAILS]
    Endpoint.objects.update(last_failure_at=BEGAN + 3 * ONE_HOUR, failures_in_a_row=70)
    assert subjects() == [FAILS]
    works()
    assert subjects() == [FAILS, WORKS]
    fails_anew()
    assert subjects() == [FAILS, WORKS, FAILS]


def test_a_success_between_two_checks_does_not_end_the_outage() -> None:
    fails_for()
    subjects()
    works()
    fails_anew()
    assert subjects() == [FAILS]


def test_without_an_email_about_the_outage_there_is_no_email_about_its_end() -> None:
    fails_for(timedelta(minutes=59))
    works()
    assert subjects() == []


@pytest.mark.parametrize("told", [False, True])
def test_an_inactive_webhook_causes_no_email_until_it_is_active_again(told: bool) -> None:
    fails_for(owner_told_at=BEGAN + ONE_HOUR if told else None, is_active=False)
    if told:
        works()
    assert subjects() == []
    Endpoint.objects.update(is_active=True)
    assert subjects() == [WORKS if told else FAILS]


def test_an_account_without_the_add_on_gets_no_email() -> None:
    fails_for()
    Account.objects.update(webhooks_enabled=False)
    assert subjects() == []


@pytest.mark.parametrize("told", [False, True])
def test_a_new_url_starts_over(told: bool) -> None:
    endpoint = fails_for(owner_told_at=BEGAN + ONE_HOUR if told else None)
    configure(endpoint.chatbot, url="https://elsewhere.example.com/", keep_secret=True)
    works()
    assert subjects() == []


def test_no_email_is_sent_while_notifications_are_off(settings: Any) -> None:
    settings.WEBHOOK_FAILURE_MAIL_AFTER = None
    fails_for(owner_told_at=BEGAN)
    works()
    fails_for()
    assert subjects() == []


@pytest.mark.parametrize(
    ("last", "error"),
    [({"last_code": 503}, "response 503"), ({"last_reason": Reason.TIMEOUT}, "timeout")],
)
def test_the_email_names_the_webhook_the_time_and_the_cause_but_no_secret(
    last: dict[str, Any], error: str
) -> None:
    endpoint = fails_for()
    DeliveryFactory(chatbot=endpoint.chatbot, state="FAILED", last_code=404)
    DeliveryFactory(chatbot=endpoint.chatbot, state="RETRYING", **last)
    DeliveryFactory(chatbot=endpoint.chatbot)
    tell_owners()
    mail = Mail.objects.get()
    assert (mail.to, mail.account) == (
        endpoint.chatbot.account.owner.email,
        endpoint.chatbot.account,
    )
    assert "2026-03-01 08:30 UTC" in mail.subject
    for wanted in (
        *(str(endpoint.chatbot), "to hooks.example.com is not working"),
        *("Failing since: 2026-03-01 08:30 UTC\n", "Failures in a row: 7\n"),
        *(f"Last error: {error}\n", "Last success: never\n"),
        reverse("admin:webhooks_endpoint_of", args=[endpoint.chatbot_id]),
    ):
        assert wanted in mail.body
    assert not re.search("hush|/bots", mail.body)


def test_the_second_email_gives_the_times_and_mentions_the_failed_deliveries() -> None:
    fails_for(owner_told_at=BEGAN + ONE_HOUR)
    works()
    tell_owners()
    body = Mail.objects.get().body
    for wanted in (
        *("hooks.example.com is working again", "2026-03-01 09:30", "2026-03-01 10:30"),
        "until they are retried",
    ):
        assert wanted in body
    assert "hush" not in body
