"""The `retry_deliveries [--failed] [--chatbot ID] [--since ISO] [--event NAME]` command."""

import pytest
from django.core.management.base import CommandError

from chatbots.models import Chatbot
from tests.commands import record
from tests.factories.webhooks import DeliveryFactory, EndpointFactory
from webhooks.models import Delivery

pytestmark = pytest.mark.django_db
UNKNOWN = "0199d7a0-0000-7000-8000-000000000000"


@pytest.fixture
def failed(chatbot: Chatbot) -> Delivery:
    return DeliveryFactory(chatbot=chatbot, state="FAILED", due_at=None, event="NEW_LEAD")


@pytest.mark.parametrize(
    ("arguments", "retried"),
    [
        *(([], 1), (["--failed"], 1), (["--chatbot", "BOT"], 1), (["--chatbot", "OTHER"], 0)),
        *((["--event", "NEW_LEAD"], 1), (["--event", "NEW_MESSAGE"], 0)),
        *((["--since", "2020-01-01"], 1), (["--since", "2999-01-01T00:00:00Z"], 0)),
    ],
)
def test_it_retries_the_matching_deliveries(
    chatbot: Chatbot, failed: Delivery, arguments: list[str], retried: int
) -> None:
    names = {"BOT": chatbot.pk, "OTHER": EndpointFactory().chatbot_id}
    arguments = [names.get(each, each) for each in arguments]
    assert record("retry_deliveries", *arguments) == {"retried": retried}
    assert Delivery.objects.filter(due_at__isnull=False).count() == retried


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--chatbot", UNKNOWN], "no chatbot"),
        (["--since", "yesterday"], "not a time such as"),
        (["--since", "0001-01-01T00:00:00+14:00"], "not a time such as"),
        (["--since", "9999-12-31T23:00:00-14:00"], "not a time such as"),
        (["--event", "OTHER"], "invalid choice"),
    ],
)
def test_invalid_input_is_a_clear_error(failed: Delivery, arguments: list[str], words: str) -> None:
    with pytest.raises(CommandError, match=words):
        record("retry_deliveries", *arguments)
