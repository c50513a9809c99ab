"""The hourly counts on a webhook's page, including the current hour."""

import re
from datetime import timedelta

from django.test import Client
from django.urls import reverse
from django.utils import timezone

from chatbots.models import Chatbot
from conversations.models import Activity
from conversations.models.activity import HOUR
from conversations.services.activity import hour_of
from tests.factories.chatbots import ChatbotFactory
from tests.factories.staff import ACCOUNT_ADMINS, signed_in, staff
from tests.factories.webhooks import DeliveryFactory, EndpointFactory


def test_stored_and_live_hours_count_only_the_chatbots_deliveries(chatbot: Chatbot) -> None:
    EndpointFactory(chatbot=chatbot)
    foreign = ChatbotFactory()
    counted = hour_of(timezone.now()) - timedelta(hours=5)
    for owner, failed in ((chatbot, 7), (foreign, 90)):
        Activity.objects.create(
            chatbot=owner, hours=HOUR, begins_at=counted, success=41, failed=failed
        )
        DeliveryFactory(chatbot=owner, state="FAILED", due_at=None)
    client: Client = signed_in(staff(chatbot.account.owner, ACCOUNT_ADMINS))
    html = client.get(reverse("admin:webhooks_endpoint_of", args=[chatbot.pk])).content.decode()
    hours = re.findall(r"<td>(\d+)</td><td>(\d+)</td>", html)
    assert len(hours) == 24
    assert (hours[18], hours[23]) == (("41", "7"), ("0", "1"))
    assert "<dd>41 ok, 8 failed</dd>" in html
