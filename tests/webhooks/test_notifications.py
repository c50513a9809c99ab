"""Account owners get an email if a webhook keeps failing, and another when it works again."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from accounts.models import Mail
from config.durations import ONE_HOUR
from config.outbound.failures import Reason
from tests.factories.webhooks import DeliveryFactory, EndpointFactory
from webhooks.models import Endpoint
from webhooks.notifications import tell_owners
from webhooks.services.endpoint import configure

URL = "https://hooks.example.com/bots?token=hush-hush"
BEGAN = datetime(2026, 3, 1, 8, 30, tzinfo=UTC)


def fails_for(length: timedelta, **fields: Any) -> Endpoint:
    """Create a failing endpoint whose last failure was `length` after its first."""
    failing = {"failing_since": BEGAN, "last_failure_at": BEGAN + length, "failures_in_a_row": 7}
    return EndpointFactory(**{"url": URL} | failing | fields)


def works(endpoint: Endpoint) -> None:
    Endpoint.objects.filter(pk=endpoint.pk).update(
        last_success_at=BEGAN + 2 * ONE_HOUR, failing_since=None, failures_in_a_row=0
    )


def fails_anew(endpoint: Endpoint, length: timedelta = 2 * ONE_HOUR) -> None:
    since = timezone.now()
    Endpoint.objects.filter(pk=endpoint.pk).update(
        failing_since=since, last_failure_at=since + length
    )


def subjects() -> list[str]:
    """Check twice for outages, and return the main clause of each email's subject."""
    tell_owners()
    tell_owners()
    return [mail.subject.split(": ")[1].split(" since")[0] for mail in Mail.objects.order_by("id")]


FAILS, WORKS = "the webhook has been failing", "the webhook works again"


@pytest.mark.django_db
class TestWhen:
    """With some exceptions, a long outage triggers one email, and its end triggers another."""

    @pytest.mark.parametrize(
        ("length", "mails"), [(ONE_HOUR, [FAILS]), (ONE_HOUR - timedelta(seconds=1), [])]
    )
    def test_a_webhook_must_have_failed_again_after_an_hour(
        self, length: timedelta, mails: list[str]
    ) -> None:
        fails_for(length)
        assert subjects() == mails

    def test_an_outage_causes_one_email_and_its_end_another(self) -> None:
        endpoint = fails_for(ONE_HOUR)
        assert subjects() == [FAILS]
        Endpoint.objects.update(last_failure_at=BEGAN + 3 * ONE_HOUR, failures_in_a_row=70)
        assert subjects() == [FAILS]
        works(endpoint)
        assert subjects() == [FAILS, WORKS]
        fails_anew(endpoint)
        assert subjects() == [FAILS, WORKS, FAILS]

    def test_a_success_between_two_checks_does_not_end_the_outage(self) -> None:
        endpoint = fails_for(ONE_HOUR)
        subjects()
        works(endpoint)
        fails_anew(endpoint)
        assert subjects() == [FAILS]

    def test_without_an_email_about_the_outage_there_is_no_email_about_its_end(self) -> None:
        works(fails_for(timedelta(minutes=59)))
        assert subjects() == []

    @pytest.mark.parametrize("told", [False, True])
    def test_an_inactive_webhook_causes_no_email_until_it_is_active_again(self, told: bool) -> None:
        endpoint = fails_for(
            ONE_HOUR, owner_told_at=BEGAN + ONE_HOUR if told else None, is_active=False
        )
        if told:
            works(endpoint)
        assert subjects() == []
        Endpoint.objects.update(is_active=True)
        assert subjects() == [WORKS if told else FAILS]

    def test_an_account_without_the_add_on_gets_no_email(self) -> None:
        account = fails_for(ONE_HOUR).chatbot.account
        account.webhooks_enabled = False
        account.save()
        assert subjects() == []

    @pytest.mark.parametrize("told", [False, True])
    def test_a_new_url_starts_over(self, told: bool) -> None:
        endpoint = fails_for(ONE_HOUR, owner_told_at=BEGAN + ONE_HOUR if told else None)
        configure(endpoint.chatbot, url="https://elsewhere.example.com/", keep_secret=True)
        works(endpoint)
        assert subjects() == []

    def test_no_email_is_sent_while_notifications_are_off(self, settings: Any) -> None:
        settings.WEBHOOK_FAILURE_MAIL_AFTER = None
        works(fails_for(ONE_HOUR, owner_told_at=BEGAN))
        fails_for(ONE_HOUR)
        assert subjects() == []


@pytest.mark.django_db
class TestWords:
    """The emails to the owner contain the facts that the owner needs, but no secrets."""

    def test_the_email_names_the_webhook_the_time_and_the_cause_but_no_secret(self) -> None:
        endpoint = fails_for(ONE_HOUR)
        DeliveryFactory(chatbot=endpoint.chatbot, state="FAILED", last_reason=Reason.TIMEOUT)
        DeliveryFactory(chatbot=endpoint.chatbot, state="RETRYING", last_code=503)
        DeliveryFactory(chatbot=endpoint.chatbot)
        tell_owners()
        mail = Mail.objects.get()
        page = reverse("admin:webhooks_endpoint_of", args=[endpoint.chatbot_id])
        assert mail.to == endpoint.chatbot.account.owner.email
        assert mail.account == endpoint.chatbot.account
        assert "2026-03-01 08:30 UTC" in mail.subject
        for wanted in (
            str(endpoint.chatbot),
            "to hooks.example.com is not working",
            "Failing since: 2026-03-01 08:30 UTC\n",
            "Failures in a row: 7\n",
            "Last error: response 503\n",
            "Last success: never\n",
            f"http://127.0.0.1:8000{page}\n",
        ):
            assert wanted in mail.body
        assert "hush" not in mail.body
        assert "/bots" not in mail.body

    def test_the_second_email_gives_the_times_and_mentions_the_failed_deliveries(self) -> None:
        works(fails_for(ONE_HOUR, owner_told_at=BEGAN + ONE_HOUR))
        tell_owners()
        body = Mail.objects.get().body
        for wanted in (
            "hooks.example.com is working again",
            "2026-03-01 09:30",
            "2026-03-01 10:30",
        ):
            assert wanted in body
        assert "until they are retried" in body
        assert "hush" not in body
