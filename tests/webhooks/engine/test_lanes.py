"""The slots of endpoints that timed out, as the database identifies them."""

from datetime import timedelta
from types import SimpleNamespace

import pytest
from django.db.models import F
from django.utils import timezone

from tests.factories.webhooks import DeliveryFactory, EndpointFactory
from tests.webhooks.engine.steps import begin
from webhooks.engine import claims
from webhooks.engine.fairness import Rotation
from webhooks.models import Delivery

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("trusting"),
    pytest.mark.proves("Delivery rules"),
]
HALF = 16  # half of the slots that steps.begin() has


@pytest.fixture
def clock(monkeypatch):
    """The clock that spaces the starts of endpoints that timed out, with an empty rotation."""
    clock = SimpleNamespace(now=0.0, monotonic=lambda: clock.now)
    monkeypatch.setattr(claims, "time", clock)
    monkeypatch.setattr(claims, "_rotation", Rotation())
    return clock


def queue(endpoints, each):
    for one in endpoints:
        DeliveryFactory.create_batch(each, chatbot=one.chatbot)


def known(count):
    """Create endpoints that have just answered."""
    made = EndpointFactory.create_batch(count, last_success_at=timezone.now())
    for one in made:
        claims._rotation.note_answer(one.chatbot_id, claims.time.monotonic())
    return made


def test_endpoints_that_timed_out_get_half_of_the_slots_in_any_number_of_rounds(clock):
    queue(EndpointFactory.create_batch(HALF + 8, timed_out=True), 3)
    begun = []
    for _ in range(2 * HALF):
        clock.now += 600.0  # longer than any pause between two starts
        begun.append(len(begin()))
    assert begun == [1] * HALF + [0] * HALF
    queue(known(1), 1)
    assert len(begin()) == 1


def test_an_endpoint_with_an_attempt_of_more_than_a_second_counts_as_slow(clock):
    drag_on = known(HALF)
    queue(drag_on, 1)
    assert len(begin()) == HALF
    Delivery.objects.update(claimed_until=F("claimed_until") - timedelta(seconds=1.5))
    queue(drag_on, 3)
    assert begin() == []
    well = known(1)
    queue(well, 1)
    assert [work.chatbot_id for work in begin()] == [well[0].chatbot_id]
