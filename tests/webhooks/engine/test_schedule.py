"""A delivery's states, tested with the real schedule and a real receiver."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from chatbots.services.chatbot import erase_chatbot
from config.outbound.failures import Reason
from tests.factories.webhooks import DeliveryFactory, EndpointFactory
from tests.servers.behaviors import Behavior, answer, stall
from tests.servers.receiver import Receiver
from tests.webhooks.engine.steps import BROKEN, OK, begin, make_due, run, states, stored
from webhooks import sealing
from webhooks.engine import attempt, schedule
from webhooks.models import Delivery, Endpoint
from webhooks.models.reason import Refusal

Change = Callable[[Endpoint], object]
pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("trusting"),
    pytest.mark.proves("States and transitions", "Delivery rules"),
]


@pytest.mark.proves(
    "Delivery rules/2",
    "Delivery rules/3",
    "States and transitions/Webhook delivery, retried",
    "States and transitions/Webhook delivery, failed",
)
def test_three_retries_follow_after_their_delays_and_then_the_delivery_has_failed(
    receiver: Receiver, delivery: Delivery
) -> None:
    receiver.on("/hook", BROKEN)
    for number, delay in enumerate((600, 1200, 1800), start=1):
        before = timezone.now()
        assert run() == 1
        now = stored(delivery)
        ended = delivery.attempts.get(number=number).finished_at
        assert (now["state"], now["due_at"]) == ("RETRYING", ended + timedelta(seconds=delay))
        assert ended >= before
        assert run() == 0, "a retry is never early"
        make_due(delivery)
    assert run() == 1
    assert (stored(delivery)["state"], stored(delivery)["due_at"]) == ("FAILED", None)
    assert states(delivery) == [(1, "RETRYING"), (2, "RETRYING"), (3, "RETRYING"), (4, "FAILED")]
    assert len({arrival.body for arrival in receiver.arrivals}) == 1
    assert len(receiver.arrivals) == 4


@pytest.mark.parametrize("failures", [0, 1])
def test_an_attempt_that_is_accepted_is_a_success(
    receiver: Receiver, delivery: Delivery, failures: int
) -> None:
    receiver.on("/hook", *[BROKEN] * failures, OK)
    for _ in range(failures):
        run()
        make_due(delivery)
    assert (run(), run()) == (1, 0)
    assert states(delivery) == [*[(1, "RETRYING")] * failures, (failures + 1, "SUCCESS")]
    now = stored(delivery)
    assert (now["state"], now["due_at"], now["claim"]) == ("SUCCESS", None, None)


@pytest.mark.proves("Delivery rules/5")
def test_an_attempt_records_what_was_sent_and_received(
    receiver: Receiver, delivery: Delivery, endpoint: Endpoint
) -> None:
    receiver.on("/hook", answer(503, b"x" * 5000, "X-Reason: overload"))
    run()
    made = delivery.attempts.get()
    arrival = receiver.arrivals[0]
    assert arrival.body == bytes(delivery.body)
    assert made.signature == arrival.header("X-SIGNATURE")
    assert made.url == endpoint.url
    assert (made.response_code, made.response_headers["X-Reason"]) == (503, "overload")
    assert bytes(made.response_body) == b"x" * 4096
    assert made.response_ms is not None
    assert made.started_at <= made.finished_at


@pytest.mark.parametrize(
    ("change", "refusal"),
    [
        (lambda endpoint: endpoint.delete(), Refusal.WEBHOOK_DELETED),
        (lambda endpoint: erase_chatbot(endpoint.chatbot), Refusal.WEBHOOK_DELETED),
        (lambda _: Endpoint.objects.update(is_active=False), Refusal.SWITCHED_OFF),
        (
            lambda endpoint: type(endpoint.chatbot.account).objects.update(webhooks_enabled=False),
            Refusal.ADD_ON_LOST,
        ),
    ],
)
def test_deliveries_waiting_when_the_webhook_is_removed_fail_with_the_reason(
    receiver: Receiver, delivery: Delivery, endpoint: Endpoint, change: Change, refusal: Refusal
) -> None:
    change(endpoint)
    run()
    now = stored(delivery)
    assert (now["state"], now["due_at"], now["last_reason"]) == ("FAILED", None, refusal)
    assert delivery.attempts.get().reason == refusal
    assert not receiver.arrivals


def test_a_forbidden_address_is_an_attempt_with_a_clear_error(delivery: Delivery) -> None:
    url = "https://10.0.0.1/hook"
    Endpoint.objects.update(url=url)
    run()
    made, now = delivery.attempts.get(), stored(delivery)
    assert (made.number, made.status, made.url, made.response_code) == (1, "RETRYING", url, None)
    assert made.reason == Reason.URL_NOT_ALLOWED
    assert "URL must lead to a public address" in made.detail
    assert (now["last_reason"], now["last_detail"]) == (made.reason, made.detail)
    assert (now["state"], now["due_at"]) == ("RETRYING", made.finished_at + timedelta(seconds=600))


def test_an_unreadable_secret_is_an_ordinary_failure_with_a_clear_error(
    receiver: Receiver, delivery: Delivery, endpoint: Endpoint
) -> None:
    other = DeliveryFactory(chatbot=EndpointFactory(url=receiver.url("/other")).chatbot)
    Endpoint.objects.filter(pk=endpoint.pk).update(sealed_secret="not sealed with any key")
    assert run() == 2
    assert stored(other)["state"] == "SUCCESS"
    assert stored(delivery)["state"] == "RETRYING"
    assert stored(delivery)["last_reason"] == Refusal.SECRET_UNREADABLE
    type(endpoint).objects.update(sealed_secret=sealing.seal("the right secret"))
    make_due(delivery)
    run()
    assert stored(delivery)["state"] == "SUCCESS"


def test_a_url_changed_between_attempts_applies_from_the_next_attempt(
    receiver: Receiver, delivery: Delivery, endpoint: Endpoint
) -> None:
    receiver.on("/hook", BROKEN)
    run()
    type(endpoint).objects.update(url=receiver.url("/new"))
    make_due(delivery)
    run()
    assert [arrival.path for arrival in receiver.arrivals] == ["/hook", "/new"]
    assert delivery.attempts.get(number=2).url == receiver.url("/new")


@pytest.mark.proves("Events/4")
@pytest.mark.parametrize(("plan", "state"), [(BROKEN, "FAILED"), (OK, "SUCCESS")])
def test_a_test_dispatch_is_one_attempt(
    receiver: Receiver, endpoint: Endpoint, plan: Behavior, state: str
) -> None:
    receiver.on("/hook", plan)
    delivery = DeliveryFactory(chatbot=endpoint.chatbot, is_test=True, retried_by="Kim")
    run()
    assert (stored(delivery)["state"], stored(delivery)["due_at"]) == (state, None)
    assert delivery.attempts.get().by == "Kim"


class TestManualRetry:
    """The specification allows manual retries after three automatic retries have failed."""

    @pytest.fixture
    def failed(self, endpoint: Endpoint) -> Delivery:
        return DeliveryFactory(
            chatbot=endpoint.chatbot, state="FAILED", due_at=None, attempts_count=4
        )

    @pytest.mark.proves("Delivery rules/3", "States and transitions/Webhook delivery, failed")
    def test_a_delivery_stays_failed_until_it_succeeds(
        self, receiver: Receiver, failed: Delivery
    ) -> None:
        receiver.on("/hook", BROKEN, OK)
        for state in ("FAILED", "SUCCESS"):
            assert schedule.retry([failed.pk], by="Kim") == 1
            assert stored(failed)["state"] == "FAILED"
            assert run() == 1
            assert (stored(failed)["state"], stored(failed)["due_at"]) == (state, None)
        assert states(failed) == [(5, "FAILED"), (6, "SUCCESS")]
        assert set(failed.attempts.values_list("by", flat=True)) == {"Kim"}

    def test_repeated_requests_for_a_retry_cause_one_attempt(
        self, receiver: Receiver, failed: Delivery
    ) -> None:
        assert [schedule.retry([failed.pk], by="Kim") for _ in range(3)] == [1, 0, 0]
        begin()
        assert schedule.retry([failed.pk], by="Kim") == 0


class TestHealth:
    """The endpoint's row records the receiver's health."""

    def health(self, endpoint: Endpoint) -> tuple[bool, int, bool]:
        endpoint.refresh_from_db()
        return (
            endpoint.failing_since is not None,
            endpoint.failures_in_a_row,
            endpoint.timed_out,
        )

    def test_failures_are_counted_until_the_next_success(
        self, receiver: Receiver, delivery: Delivery, endpoint: Endpoint
    ) -> None:
        receiver.on("/hook", BROKEN, BROKEN, OK)
        run()
        endpoint.refresh_from_db()
        since = endpoint.failing_since
        assert endpoint.last_failure_at == since
        make_due(delivery)
        run()
        assert self.health(endpoint) == (True, 2, False)
        assert endpoint.failing_since == since < endpoint.last_failure_at
        make_due(delivery)
        run()
        assert self.health(endpoint) == (False, 0, False)

    def test_a_receiver_that_does_not_answer_counts_as_timed_out(
        self, receiver: Receiver, delivery: Delivery, endpoint: Endpoint, settings: Any
    ) -> None:
        settings.WEBHOOK_TIMEOUT = 1.0
        receiver.on("/hook", stall())
        run()
        assert self.health(endpoint) == (True, 1, True)
        delivery.refresh_from_db()
        assert delivery.last_error == "timeout: while waiting for the response"

    def test_a_response_from_a_former_url_does_not_count_for_the_current_one(
        self, receiver: Receiver, delivery: Delivery, endpoint: Endpoint
    ) -> None:
        receiver.on("/hook", BROKEN)
        [work] = begin()
        type(endpoint).objects.update(url=receiver.url("/new"))
        assert schedule.settle(work, attempt.send(work))
        assert self.health(endpoint) == (False, 0, False)

    def test_a_request_that_was_never_sent_does_not_count(
        self, delivery: Delivery, endpoint: Endpoint
    ) -> None:
        type(endpoint).objects.update(is_active=False)
        run()
        assert self.health(endpoint) == (False, 0, False)
