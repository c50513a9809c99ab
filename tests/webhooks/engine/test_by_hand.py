"""Manual retries take no slot from other deliveries."""

from datetime import timedelta

import pytest
from django.utils import timezone

from config.database.ids import new_id
from tests.factories.webhooks import DeliveryFactory, EndpointFactory
from tests.webhooks.engine.steps import ME
from webhooks.engine import claims, fairness
from webhooks.models import Delivery

pytestmark = pytest.mark.django_db(transaction=True)


def overdue(endpoint, count, *, state, seconds):
    due = timezone.now() - timedelta(seconds=seconds)
    return DeliveryFactory.create_batch(count, chatbot=endpoint.chatbot, state=state, due_at=due)


def test_a_replay_waits_for_automatic_retries_and_for_what_is_new(endpoint):
    replayed = overdue(endpoint, 40, state="FAILED", seconds=60)
    [retry] = overdue(endpoint, 1, state="RETRYING", seconds=1)
    event = DeliveryFactory(chatbot=endpoint.chatbot)
    claimed = [one.delivery_id for one in claims.claim(ME, slots=64)]
    assert claimed[:2] == [retry.pk, event.pk]
    assert set(claimed[2:]) <= {one.pk for one in replayed}


def test_a_replay_takes_half_of_an_endpoints_places_at_most(endpoint):
    overdue(endpoint, 40, state="FAILED", seconds=60)
    assert len(claims.claim(ME, slots=64)) == fairness.MANUAL_PER_ENDPOINT
    assert claims.claim(ME, slots=64) == []
    events = DeliveryFactory.create_batch(8, chatbot=endpoint.chatbot)
    assert len(claims.claim(ME, slots=64)) == fairness.PER_ENDPOINT - fairness.MANUAL_PER_ENDPOINT
    Delivery.objects.filter(state="FAILED", claim=None).update(due_at=None)
    Delivery.objects.filter(claim__isnull=False).update(claim=None, due_at=None)
    left = {one.delivery_id for one in claims.claim(ME, slots=64)}
    assert left < {one.pk for one in events}


def test_of_those_that_died_with_their_workers_twice_one_is_under_way_at_a_time(endpoint):
    twice = DeliveryFactory.create_batch(3, chatbot=endpoint.chatbot, interruptions=2)
    others = DeliveryFactory.create_batch(2, chatbot=endpoint.chatbot, interruptions=1)
    claimed = {one.delivery_id for one in claims.claim(ME, slots=64)}
    assert claimed == {twice[0].pk, *(one.pk for one in others)}
    assert claims.claim(ME, slots=64) == []
    Delivery.objects.filter(pk=twice[0].pk).update(claim=None, due_at=None)
    assert [one.delivery_id for one in claims.claim(ME, slots=64)] == [twice[1].pk]


def test_who_may_not_start_beside_a_suspect_takes_nobodys_turn(endpoint):
    dead = EndpointFactory(timed_out=True)
    suspects = overdue(dead, 3, state="RETRYING", seconds=60)
    Delivery.objects.filter(pk__in=[one.pk for one in suspects]).update(interruptions=2)
    [other] = overdue(dead, 1, state="RETRYING", seconds=1)
    DeliveryFactory(chatbot=endpoint.chatbot, interruptions=2)
    [claimed] = claims.claim(ME, slots=1)
    Delivery.objects.filter(pk=claimed.delivery_id).update(interruptions=2)  # it is in progress
    assert [one.delivery_id for one in claims.claim(ME, slots=64)] == [other.pk]


def test_a_replay_keeps_the_order_of_a_thread(endpoint):
    thread, due = new_id(), timezone.now() - timedelta(seconds=60)
    made = DeliveryFactory.create_batch(
        3, chatbot=endpoint.chatbot, state="FAILED", due_at=due, thread_id=thread
    )
    for one in made:
        [claimed] = claims.claim(ME, slots=64)
        assert claimed.delivery_id == one.pk
        Delivery.objects.filter(pk=one.pk).update(claim=None, due_at=None)
