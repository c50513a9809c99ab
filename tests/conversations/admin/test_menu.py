"""The admin's menu, and the counts next to its entries."""

import re

from django.test import Client
from django.urls import reverse
from django.utils import timezone

from chatbots.models import Chatbot
from config.database.ids import first_id_of
from config.durations import ONE_DAY
from tests.factories.chatbots import ChatbotFactory
from tests.factories.conversations import MessageFactory, ThreadFactory
from tests.factories.staff import signed_in, superuser
from tests.factories.webhooks import DeliveryFactory
from webhooks.models import Delivery

HOME = reverse("admin:index")
BADGE = re.compile(r"min-w-\[18px\] bg-red-100[^>]*>([^<]+)<")
PAGE = "/admin/password_change/"  # open to all staff; the only counts on it are in the menu


def test_the_menu_shows_only_permitted_pages(client: Client) -> None:
    shown = client.get(HOME).content.decode()
    assert reverse("admin:webhooks_delivery_changelist") in shown
    assert reverse("admin:accounts_plan_changelist") not in shown


def badges(client: Client) -> list[str]:
    """Return the counts next to the menu's entries."""
    return BADGE.findall(client.get(PAGE).text)


def test_the_badges_count_only_the_users_own_rows(client: Client, chatbot: Chatbot) -> None:
    assert badges(client) == []
    for bot, count in ((chatbot, 1), (ChatbotFactory(), 2)):
        waits = {"chatbot": bot, "escalated": True, "waiting_since": timezone.now()}
        for thread in ThreadFactory.create_batch(count, **waits):
            MessageFactory(thread=thread)
        DeliveryFactory.create_batch(count + 2, chatbot=bot, state="FAILED", due_at=None)
    assert badges(client) == ["1", "3"]
    assert badges(signed_in(superuser())) == ["3", "7"]


def test_the_deliveries_badge_counts_the_failures_of_the_last_day(
    client: Client, chatbot: Chatbot
) -> None:
    failed = {"chatbot": chatbot, "state": "FAILED", "due_at": None}
    long_ago = timezone.now() - 2 * ONE_DAY
    old = DeliveryFactory(**failed, id=first_id_of(long_ago))
    Delivery.objects.filter(pk=old.pk).update(created_at=long_ago)
    DeliveryFactory(**failed, is_test=True)
    DeliveryFactory(chatbot=chatbot)
    assert badges(client) == []
    DeliveryFactory(**failed)
    assert badges(client) == ["1"]
