"""The `prune_deliveries --older-than DAYS` command."""

from datetime import timedelta

import pytest
from django.core.management.base import CommandError
from django.utils import timezone

from chatbots.models import Chatbot
from tests.commands import record
from tests.factories.webhooks import DeliveryFactory
from webhooks.models import Delivery

pytestmark = pytest.mark.django_db


def test_it_deletes_older_deliveries(chatbot: Chatbot) -> None:
    for days in (1, 5):
        made = DeliveryFactory(chatbot=chatbot, state="SUCCESS", due_at=None)
        then = timezone.now() - timedelta(days=days)
        Delivery.objects.filter(pk=made.pk).update(created_at=then)
    assert record("prune_deliveries", "--older-than", "3") == {"deleted": 1}
    then = Delivery.objects.get().created_at
    assert timezone.now() - then < timedelta(days=3)


@pytest.mark.parametrize("days", ["0", "-1", "many"])
def test_an_invalid_age_is_a_clear_error(days: str) -> None:
    with pytest.raises(CommandError, match="not a number from 1"):
        record("prune_deliveries", "--older-than", days)
