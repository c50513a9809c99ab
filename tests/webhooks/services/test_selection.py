"""The delivery log, retry jobs and retry_deliveries share the same filters."""

from datetime import UTC, datetime
from typing import Any

import pytest
from django.utils import timezone

from chatbots.models import Chatbot
from config.database.ids import new_id
from config.durations import ONE_HOUR
from tests.factories.webhooks import DeliveryFactory
from webhooks.models import Delivery
from webhooks.services.selection import Selection

pytestmark = pytest.mark.django_db


def failed(chatbot: Chatbot, **fields: Any) -> Delivery:
    made = {"state": "FAILED", "due_at": None, "attempts_count": 4, "last_code": 503}
    return DeliveryFactory(chatbot=chatbot, **made | fields)


def test_deliveries_can_be_selected_by_chatbot_account_time_span_and_id(chatbot: Chatbot) -> None:
    wanted = failed(chatbot, thread_id=new_id(), message_id=new_id())
    failed(DeliveryFactory().chatbot)
    now = timezone.now()
    for parts in (
        {"chatbot": chatbot.pk},
        {"account": chatbot.account_id},
        {"chatbot": chatbot.pk, "since": now - ONE_HOUR, "until": now + ONE_HOUR},
        {"id": wanted.pk},
        {"id": wanted.thread_id},
        {"id": wanted.message_id},
    ):
        assert Selection(**parts).rows().get() == wanted
    assert not Selection(since=now + ONE_HOUR).rows().exists()
    assert not Selection(until=now - ONE_HOUR).rows().exists()


def test_a_filter_is_stored_and_described(chatbot: Chatbot) -> None:
    since = datetime(2026, 3, 1, 8, 30, tzinfo=UTC)
    selection = Selection(chatbot=chatbot.pk, since=since, cause="TIMEOUT", code_class="none")
    assert Selection.from_json(selection.as_json()) == selection
    assert selection.words() == [
        "state: FAILED",
        f"chatbot: {chatbot.name}",
        "response: none",
        "cause: timeout",
        "created from: 2026-03-01 08:30:00 UTC",
    ]
