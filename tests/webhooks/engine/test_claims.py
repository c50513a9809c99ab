"""A delivery must be claimed before it is attempted, and deliveries start in the right order."""

from datetime import timedelta

import pytest
from django.utils import timezone

from config.database.claims import LEASE
from config.database.ids import new_id
from tests.factories.webhooks import DeliveryFactory, EndpointFactory
from tests.servers.receiver import Receiver
from tests.webhooks.engine.steps import (
    BROKEN,
    ME,
    begin,
    claim,
    claimed_ids,
    expire,
    run,
    states,
    stored,
)
from webhooks.engine import attempt, claims, queue, recovery, schedule
from webhooks.engine.work import Claimed
from webhooks.models import Delivery, Endpoint
from webhooks.models.delivery import LONG_AGO
from webhooks.models.reason import Refusal

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("trusting"),
    pytest.mark.proves("States and transitions", "Delivery rules"),
]


class TestClaims:
    """Only one task can begin a claimed delivery, even if a worker dies or stops."""

    def test_an_endpoint_has_no_more_attempts_in_flight_than_its_limit(
        self, endpoint: Endpoint
    ) -> None:
        DeliveryFactory.create_batch(12, chatbot=endpoint.chatbot)
        assert (len(claimed_ids()), len(claimed_ids())) == (8, 0)

    def test_an_attempt_whose_worker_died_is_repeated_under_its_number(
        self, delivery: Delivery
    ) -> None:
        [late] = begin()
        expire()
        interrupted = delivery.attempts.get()
        assert (interrupted.interrupted, interrupted.status) == (True, "RETRYING")
        assert stored(delivery)["state"] == "PENDING"
        assert run() == 1
        assert states(delivery) == [(1, "RETRYING"), (1, "SUCCESS")]
        before = stored(delivery)
        assert not schedule.settle(late, attempt.send(late)), "a late result changes nothing"
        assert stored(delivery) == before

    def test_an_unstarted_claim_does_not_count_as_interrupted(self, delivery: Delivery) -> None:
        claim()
        expire()
        assert stored(delivery)["interruptions"] == 0
        assert run() == 1

    def test_the_third_interruption_ends_a_delivery(self, delivery: Delivery) -> None:
        Delivery.objects.update(state="RETRYING", attempts_count=1, last_code=503, last_ms=12)
        for _ in range(3):
            assert stored(delivery)["state"] == "RETRYING"
            begin()
            expire()
        now = stored(delivery)
        assert (now["state"], now["due_at"], now["last_reason"]) == (
            "FAILED",
            None,
            Refusal.INTERRUPTED_TOO_OFTEN,
        )
        assert (now["attempts_count"], now["last_code"], now["last_ms"]) == (2, None, None)
        assert run() == 0
        assert states(delivery) == [(2, "RETRYING"), (2, "RETRYING"), (2, "FAILED")]

    def test_a_renewed_lease_keeps_its_claim(self, delivery: Delivery) -> None:
        [work] = begin()
        Delivery.objects.update(claimed_until=timezone.now() - timedelta(seconds=1))
        claims.renewal.renew([work.key])
        before = stored(delivery)
        recovery.free_expired()
        assert stored(delivery) == before
        assert before["claimed_until"] > timezone.now() + LEASE - timedelta(seconds=5)

    def test_a_stopping_worker_releases_only_the_deliveries_that_have_not_begun(
        self, endpoint: Endpoint
    ) -> None:
        DeliveryFactory.create_batch(2, chatbot=endpoint.chatbot)
        [claimed] = claim()
        one, other = claimed.delivery_ids
        schedule.confirm(Claimed(claimed.claim, [one]), worker=ME)
        recovery.release_unstarted()
        assert stored(Delivery(pk=one))["claim"] is not None
        assert stored(Delivery(pk=other))["claim"] is None


def test_only_deliveries_to_slow_endpoints_have_a_task_of_their_own(endpoint: Endpoint) -> None:
    Endpoint.objects.update(last_success_at=timezone.now(), attempts_limit=20)
    slow = EndpointFactory(timed_out=True, attempts_limit=2)
    for one in (endpoint, slow):
        DeliveryFactory.create_batch(20, chatbot=one.chatbot)
    sizes = sorted((one.slow, len(one.delivery_ids)) for one in claim(64))
    assert sizes == [(False, 4), (False, 16), (True, 1), (True, 1)]


class TestOrder:
    """Deliveries that are read from a real database start in the right order."""

    def test_the_deliveries_of_a_thread_start_one_after_the_other(self, endpoint: Endpoint) -> None:
        thread = new_id()
        made = DeliveryFactory.create_batch(3, chatbot=endpoint.chatbot, thread_id=thread)
        for delivery in made:
            assert [one.delivery_id for one in begin()] == [delivery.pk]
            assert begin() == []
            Delivery.objects.filter(pk=delivery.pk).update(state="SUCCESS", due_at=None, claim=None)

    def test_a_delivery_that_waits_for_its_retry_does_not_delay_other_deliveries(
        self, receiver: Receiver, endpoint: Endpoint
    ) -> None:
        thread = new_id()
        receiver.on("/hook", BROKEN)
        first, second = DeliveryFactory.create_batch(2, chatbot=endpoint.chatbot, thread_id=thread)
        run()
        assert stored(first)["state"] == "RETRYING"
        assert claimed_ids() == [second.pk]

    def test_retries_start_before_first_attempts(self, endpoint: Endpoint) -> None:
        DeliveryFactory.create_batch(9, chatbot=endpoint.chatbot)
        retry = DeliveryFactory(chatbot=endpoint.chatbot, state="RETRYING", attempts_count=1)
        assert claimed_ids()[0] == retry.pk

    def test_the_older_event_starts_first_even_if_its_thread_is_newer(
        self, endpoint: Endpoint
    ) -> None:
        old, young = new_id(), new_id()
        made = [DeliveryFactory(chatbot=endpoint.chatbot, thread_id=one) for one in (young, old)]
        assert claimed_ids() == [delivery.pk for delivery in made]

    def test_a_first_attempt_is_due_whatever_its_writers_clock_says(
        self, endpoint: Endpoint
    ) -> None:
        DeliveryFactory(chatbot=endpoint.chatbot, due_at=timezone.now() + timedelta(hours=1))
        assert len(claimed_ids()) == 1

    def test_the_next_due_time_is_that_of_the_earliest_retry(self, endpoint: Endpoint) -> None:
        assert queue.glance()[0] is None
        later = timezone.now() + timedelta(minutes=30)
        DeliveryFactory(chatbot=endpoint.chatbot, state="RETRYING", due_at=later)
        DeliveryFactory(
            chatbot=endpoint.chatbot, state="FAILED", due_at=later + timedelta(seconds=1)
        )
        assert queue.glance()[0] == later
        DeliveryFactory(chatbot=endpoint.chatbot)
        assert queue.glance()[0] == LONG_AGO

    def test_a_long_queue_of_one_endpoint_hides_no_other_endpoint(self, endpoint: Endpoint) -> None:
        row = DeliveryFactory(chatbot=endpoint.chatbot)
        Delivery.objects.bulk_create(
            Delivery(
                chatbot=row.chatbot,
                account=row.account,
                event=row.event,
                body=b"{}",
                due_at=row.due_at,
                thread_id=new_id(),
                state=state,
            )
            for state in ("PENDING", "RETRYING")
            for _ in range(1500)
        )
        claimed_ids()
        other = EndpointFactory(last_success_at=timezone.now())
        newest = DeliveryFactory(chatbot=other.chatbot)
        assert claimed_ids() == [newest.pk]


def overdue(endpoint: Endpoint, count: int, *, state: str, seconds: float) -> list[Delivery]:
    due = timezone.now() - timedelta(seconds=seconds)
    return DeliveryFactory.create_batch(count, chatbot=endpoint.chatbot, state=state, due_at=due)


def test_a_manual_retry_waits_for_automatic_retries_and_new_deliveries(endpoint: Endpoint) -> None:
    replayed = overdue(endpoint, 40, state="FAILED", seconds=60)
    [retry] = overdue(endpoint, 1, state="RETRYING", seconds=1)
    event = DeliveryFactory(chatbot=endpoint.chatbot)
    claimed = claimed_ids(64)
    assert claimed[:2] == [retry.pk, event.pk]
    assert set(claimed[2:]) <= {one.pk for one in replayed}


def test_deliveries_that_were_interrupted_twice_run_one_at_a_time(endpoint: Endpoint) -> None:
    twice = DeliveryFactory.create_batch(3, chatbot=endpoint.chatbot, interruptions=2)
    others = DeliveryFactory.create_batch(2, chatbot=endpoint.chatbot, interruptions=1)
    claimed = set(claimed_ids(64))
    assert claimed == {twice[0].pk, *(one.pk for one in others)}
    assert claim(64) == []
    Delivery.objects.filter(pk=twice[0].pk).update(claim=None, due_at=None)
    assert claimed_ids(64) == [twice[1].pk]


def test_suspects_that_must_wait_do_not_hold_up_other_deliveries(endpoint: Endpoint) -> None:
    dead = EndpointFactory(timed_out=True)
    suspects = overdue(dead, 3, state="RETRYING", seconds=60)
    Delivery.objects.filter(pk__in=[one.pk for one in suspects]).update(interruptions=2)
    [other] = overdue(dead, 1, state="RETRYING", seconds=1)
    DeliveryFactory(chatbot=endpoint.chatbot, interruptions=2)
    [claimed] = claimed_ids(1)
    Delivery.objects.filter(pk=claimed).update(interruptions=2)
    assert claimed_ids(64) == [other.pk]


def test_a_manual_retry_keeps_the_order_of_its_thread(endpoint: Endpoint) -> None:
    thread, due = new_id(), timezone.now() - timedelta(seconds=60)
    made = DeliveryFactory.create_batch(
        3, chatbot=endpoint.chatbot, state="FAILED", due_at=due, thread_id=thread
    )
    for one in made:
        assert claimed_ids(64) == [one.pk]
        Delivery.objects.filter(pk=one.pk).update(claim=None, due_at=None)
