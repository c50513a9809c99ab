"""Manual retries start last, and deliveries that may have killed a worker run one at a time."""

from datetime import timedelta

import pytest
from django.utils import timezone

from config.database.ids import new_id
from tests.factories.webhooks import DeliveryFactory, EndpointFactory
from tests.webhooks.engine.steps import claim
from webhooks.models import Delivery, Endpoint

pytestmark = pytest.mark.django_db(transaction=True)


def overdue(endpoint: Endpoint, count: int, *, state: str, seconds: float) -> list[Delivery]:
    due = timezone.now() - timedelta(seconds=seconds)
    return DeliveryFactory.create_batch(count, chatbot=endpoint.chatbot, state=state, due_at=due)


def test_a_manual_retry_waits_for_automatic_retries_and_new_deliveries(endpoint: Endpoint) -> None:
    replayed = overdue(endpoint, 40, state="FAILED", seconds=60)
    [retry] = overdue(endpoint, 1, state="RETRYING", seconds=1)
    event = DeliveryFactory(chatbot=endpoint.chatbot)
    claimed = [one.delivery_id for one in claim(64)]
    assert claimed[:2] == [retry.pk, event.pk]
    assert set(claimed[2:]) <= {one.pk for one in replayed}


def test_new_deliveries_start_before_manual_retries_once_attempts_end(endpoint: Endpoint) -> None:
    overdue(endpoint, 40, state="FAILED", seconds=60)
    claimed = claim(64)
    assert len(claimed) == endpoint.attempts_limit
    assert claim(64) == []
    events = DeliveryFactory.create_batch(3, chatbot=endpoint.chatbot)
    ended = [one.delivery_id for one in claimed[:3]]
    Delivery.objects.filter(pk__in=ended).update(claim=None, due_at=None)
    assert {one.delivery_id for one in claim(64)} == {one.pk for one in events}


def test_deliveries_that_were_interrupted_twice_run_one_at_a_time(endpoint: Endpoint) -> None:
    twice = DeliveryFactory.create_batch(3, chatbot=endpoint.chatbot, interruptions=2)
    others = DeliveryFactory.create_batch(2, chatbot=endpoint.chatbot, interruptions=1)
    claimed = {one.delivery_id for one in claim(64)}
    assert claimed == {twice[0].pk, *(one.pk for one in others)}
    assert claim(64) == []
    Delivery.objects.filter(pk=twice[0].pk).update(claim=None, due_at=None)
    assert [one.delivery_id for one in claim(64)] == [twice[1].pk]


def test_suspects_that_must_wait_do_not_hold_up_other_deliveries(endpoint: Endpoint) -> None:
    dead = EndpointFactory(timed_out=True)
    suspects = overdue(dead, 3, state="RETRYING", seconds=60)
    Delivery.objects.filter(pk__in=[one.pk for one in suspects]).update(interruptions=2)
    [other] = overdue(dead, 1, state="RETRYING", seconds=1)
    DeliveryFactory(chatbot=endpoint.chatbot, interruptions=2)
    [claimed] = claim(1)
    Delivery.objects.filter(pk=claimed.delivery_id).update(interruptions=2)
    assert [one.delivery_id for one in claim(64)] == [other.pk]


def test_a_manual_retry_keeps_the_order_of_its_thread(endpoint: Endpoint) -> None:
    thread, due = new_id(), timezone.now() - timedelta(seconds=60)
    made = DeliveryFactory.create_batch(
        3, chatbot=endpoint.chatbot, state="FAILED", due_at=due, thread_id=thread
    )
    for one in made:
        [claimed] = claim(64)
        assert claimed.delivery_id == one.pk
        Delivery.objects.filter(pk=one.pk).update(claim=None, due_at=None)
