"""A delivery must be claimed before it is attempted, and deliveries start in the right order."""

from datetime import datetime, timedelta
from typing import NoReturn
from uuid import UUID, uuid4

import pytest
from django.db import OperationalError, connection
from django.utils import timezone

from config.database.ids import new_id
from tests.factories.webhooks import DeliveryFactory, EndpointFactory
from tests.servers.receiver import Receiver
from tests.webhooks.engine.steps import BROKEN, ME, OTHER, begin, run, states, stored
from webhooks.engine import attempt, claims, queue, recovery, schedule
from webhooks.engine.fairness import Candidate, Slots, Waiting
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

    def test_a_second_task_with_the_same_claim_begins_nothing(self, delivery: Delivery) -> None:
        [claimed] = claims.claim(ME, slots=8)
        assert schedule.confirm(claimed, worker=ME)
        assert schedule.confirm(claimed, worker=ME) is None
        assert schedule.confirm(claimed, worker=OTHER) is None
        assert delivery.attempts.count() == 1

    def test_a_forged_claim_begins_nothing(self, delivery: Delivery) -> None:
        claims.claim(ME, slots=8)
        assert schedule.confirm(Claimed(delivery.pk, uuid4()), worker=ME) is None
        assert schedule.confirm(Claimed(uuid4(), uuid4()), worker=ME) is None

    def test_the_limit_of_an_endpoint_spans_all_workers(self, endpoint: Endpoint) -> None:
        DeliveryFactory.create_batch(12, chatbot=endpoint.chatbot)
        mine, others = claims.claim(ME, slots=6), claims.claim(OTHER, slots=32)
        assert (len(mine), len(others)) == (4, 4)

    def test_two_workers_never_claim_the_same_delivery(
        self, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The other worker claims deliveries that this worker has chosen but not yet claimed."""
        choose, others = claims._choose, []
        DeliveryFactory.create_batch(12, chatbot=endpoint.chatbot)

        def choose_before_the_other_claims(slots: Slots) -> list[tuple[Waiting, Candidate]]:
            chosen = choose(slots)
            monkeypatch.setattr(claims, "_choose", choose)
            others.extend(claims.claim(OTHER, slots=2))
            return chosen

        monkeypatch.setattr(claims, "_choose", choose_before_the_other_claims)
        mine = claims.claim(ME, slots=6)
        assert mine
        assert others
        assert not {one.delivery_id for one in mine} & {one.delivery_id for one in others}

    @pytest.mark.parametrize("state", ["PENDING", "RETRYING", "FAILED"])
    def test_a_delivery_that_another_worker_has_just_attempted_waits_for_its_retry(
        self, delivery: Delivery, monkeypatch: pytest.MonkeyPatch, state: str
    ) -> None:
        choose, now = claims._choose, timezone.now()
        Delivery.objects.update(state=state, due_at=now - timedelta(seconds=1))

        def choose_before_the_attempt(slots: Slots) -> list[tuple[Waiting, Candidate]]:
            chosen = choose(slots)
            assert chosen
            Delivery.objects.update(state="RETRYING", due_at=now + timedelta(hours=1))
            return chosen

        monkeypatch.setattr(claims, "_choose", choose_before_the_attempt)
        assert claims.claim(ME, slots=8) == []
        assert stored(delivery)["claim"] is None

    def test_an_attempt_of_a_dead_worker_is_repeated_under_its_number(
        self, delivery: Delivery
    ) -> None:
        [late] = begin(OTHER)
        recovery.take_over({OTHER})
        interrupted = delivery.attempts.get()
        assert (interrupted.interrupted, interrupted.status) == (True, "RETRYING")
        assert stored(delivery)["state"] == "PENDING"
        assert run() == 1
        assert states(delivery) == [(1, "RETRYING"), (1, "SUCCESS")]
        before = stored(delivery)
        assert not schedule.settle(late, attempt.send(late))
        assert stored(delivery) == before

    def test_a_delivery_that_a_dead_worker_had_not_begun_does_not_count_as_interrupted(
        self, delivery: Delivery
    ) -> None:
        claims.claim(OTHER, slots=8)
        recovery.take_over({OTHER})
        assert stored(delivery)["interruptions"] == 0
        assert run() == 1

    def test_the_third_interruption_ends_a_delivery(self, delivery: Delivery) -> None:
        for _ in range(3):
            assert stored(delivery)["state"] == "PENDING"
            begin(OTHER)
            recovery.take_over({OTHER})
        now = stored(delivery)
        assert (now["state"], now["due_at"], now["last_reason"]) == (
            "FAILED",
            None,
            Refusal.INTERRUPTED_TOO_OFTEN,
        )
        assert run() == 0
        assert states(delivery) == [(1, "RETRYING"), (1, "RETRYING"), (1, "FAILED")]

    def test_the_third_interruption_replaces_the_response_to_an_earlier_attempt(
        self, delivery: Delivery
    ) -> None:
        Delivery.objects.update(state="RETRYING", attempts_count=1, last_code=503, last_ms=12)
        for _ in range(3):
            begin(OTHER)
            recovery.take_over({OTHER})
        now = stored(delivery)
        assert (now["attempts_count"], now["last_code"], now["last_ms"]) == (2, None, None)
        assert (now["last_reason"], now["answer_class"]) == (Refusal.INTERRUPTED_TOO_OFTEN, 0)

    def test_an_interruption_that_cannot_be_stored_is_not_reported(
        self,
        delivery: Delivery,
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        def fail() -> NoReturn:
            connection.rollback()
            raise OperationalError("database or disk is full")

        begin(OTHER)
        row, interrupted = Delivery.objects.get(), delivery.attempts.get()
        with monkeypatch.context() as patch, pytest.raises(OperationalError):
            patch.setattr(connection, "_commit", fail)
            recovery._free(row, interrupted, timezone.now())
        assert "was interrupted" not in caplog.text
        recovery.take_over({OTHER})
        assert "attempt 1 was interrupted" in caplog.text

    def test_a_live_worker_keeps_its_claims(self, delivery: Delivery) -> None:
        begin(OTHER)
        before = stored(delivery)
        recovery.take_over(set())
        assert stored(delivery) == before

    def test_an_expired_lease_frees_even_a_live_workers_delivery(self, delivery: Delivery) -> None:
        begin(OTHER)
        Delivery.objects.update(claimed_until=timezone.now() - timedelta(seconds=1))
        recovery.take_over(set())
        assert delivery.attempts.get().interrupted
        assert run() == 1

    def test_a_delivery_whose_task_was_lost_is_claimed_again(
        self, delivery: Delivery, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(claims, "START", timedelta(minutes=10))
        claims.claim(ME, slots=8)
        recovery.take_over(set())
        assert stored(delivery)["claim"] is not None, "the task may not have run yet"
        Delivery.objects.update(claimed_until=timezone.now() - timedelta(seconds=1))
        recovery.take_over(set())
        assert run() == 1

    def test_a_stopping_worker_releases_the_deliveries_that_it_has_not_begun(
        self, endpoint: Endpoint
    ) -> None:
        DeliveryFactory.create_batch(2, chatbot=endpoint.chatbot)
        one, other = claims.claim(ME, slots=8)
        schedule.confirm(one, worker=ME)
        recovery.release_all(ME)
        assert stored(Delivery(pk=one.delivery_id))["claim"] is not None
        assert stored(Delivery(pk=other.delivery_id))["claim"] is None

    def test_a_stopping_worker_keeps_an_attempt_whose_lease_ends_soon(
        self, delivery: Delivery
    ) -> None:
        [work] = begin()
        Delivery.objects.update(claimed_until=timezone.now() + timedelta(seconds=2))
        recovery.release_all(ME)
        assert schedule.settle(work, attempt.send(work))
        assert states(delivery) == [(1, "SUCCESS")]


class TestOrder:
    """Deliveries that are read from a real database start in the right order."""

    def heads(self) -> list[UUID]:
        return [one.delivery_id for one in claims.claim(ME, slots=32)]

    def test_the_deliveries_of_a_thread_start_one_after_the_other(
        self, receiver: Receiver, endpoint: Endpoint
    ) -> None:
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
        assert self.heads() == [second.pk]

    def test_retries_start_before_first_attempts(self, endpoint: Endpoint) -> None:
        DeliveryFactory.create_batch(9, chatbot=endpoint.chatbot)
        retry = DeliveryFactory(chatbot=endpoint.chatbot, state="RETRYING", attempts_count=1)
        assert self.heads()[0] == retry.pk

    def test_threads_of_one_endpoint_start_in_parallel(self, endpoint: Endpoint) -> None:
        made = [DeliveryFactory(chatbot=endpoint.chatbot, thread_id=new_id()) for _ in range(10)]
        assert self.heads() == [delivery.pk for delivery in made[:8]]

    def test_the_older_event_starts_first_even_if_its_thread_is_newer(
        self, endpoint: Endpoint
    ) -> None:
        old, young = new_id(), new_id()
        made = [DeliveryFactory(chatbot=endpoint.chatbot, thread_id=one) for one in (young, old)]
        assert self.heads() == [delivery.pk for delivery in made]

    def test_a_first_attempt_is_due_whatever_its_writers_clock_says(
        self, endpoint: Endpoint
    ) -> None:
        DeliveryFactory(chatbot=endpoint.chatbot, due_at=timezone.now() + timedelta(hours=1))
        assert len(self.heads()) == 1

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

    def test_a_claim_reads_only_twice_as_many_deliveries_as_may_start(
        self, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        DeliveryFactory.create_batch(40, chatbot=endpoint.chatbot)
        read_due, read = queue.read_due, []

        def count(waiting: list[Waiting], each: int, current_time: datetime) -> None:
            read_due(waiting, each, current_time)
            read.extend(len(one.due) for one in waiting)

        monkeypatch.setattr(queue, "read_due", count)
        claimed = claims.claim(ME, slots=100)
        assert (len(claimed), read) == (8, [16])

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
        self.heads()
        other = EndpointFactory(last_success_at=timezone.now())
        newest = DeliveryFactory(chatbot=other.chatbot)
        assert self.heads() == [newest.pk]
