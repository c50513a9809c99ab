"""The admin's menu, and the counts next to its entries."""

import re
from html import unescape
from typing import Any
from urllib.parse import urljoin

import pytest
from django.contrib.admin import site
from django.test import Client
from django.urls import resolve, reverse
from django.utils import timezone

from chatbots.models import Chatbot
from config.database.ids import first_id_of
from config.durations import ONE_DAY
from config.models import PeriodicWork
from tests.factories.chatbots import ChatbotFactory
from tests.factories.conversations import MessageFactory, ThreadFactory
from tests.factories.staff import signed_in, superuser
from tests.factories.tenant import Tenant
from tests.factories.webhooks import DeliveryFactory
from webhooks.models import Delivery

HOME = reverse("admin:index")
BADGE = re.compile(r"min-w-\[18px\] bg-red-100[^>]*>([^<]+)<")
PAGE = "/admin/password_change/"  # open to all staff; the only counts on it are in the menu
# These models need no menu entry, because a chatbot's page lists their rows.
BELOW = ("conversationstarter", "instruction", "localization", "persona")


def test_the_menu_shows_only_permitted_pages(client: Client) -> None:
    shown = client.get(HOME).content.decode()
    assert reverse("admin:webhooks_delivery_changelist") in shown
    assert reverse("admin:accounts_plan_changelist") not in shown


@pytest.mark.slow
def test_every_list_can_be_reached_from_the_menu(default_model: Any) -> None:
    """Follow the links from the home page, and open one page of each kind."""
    tenant, client = Tenant("mine"), signed_in(superuser())
    PeriodicWork.objects.get_or_create(name="prune", due_at=timezone.now())
    assert tenant.rows
    found, asked, waiting = {HOME}, set[str](), [HOME]
    while waiting:
        address = waiting.pop()
        kind = resolve(address).view_name
        if kind in asked or kind.endswith(("logout", "_export", "_delete")):
            continue
        asked.add(kind)
        page = client.get(address)
        if not page.get("Content-Type", "").startswith("text/html") or page.status_code != 200:
            continue
        links = {
            urljoin(address, unescape(link)).partition("?")[0].partition("#")[0]
            for link in re.findall(r'<a[^>]* href="([^"]*)"', page.content.decode())
        }
        new = {link for link in links if link.startswith(HOME)} - found
        found |= new
        waiting += sorted(new)
    labels = [model._meta.label_lower.replace(".", "_") for model in site._registry]
    lists = {reverse(f"admin:{label}_changelist") for label in labels}
    assert lists - found <= {reverse(f"admin:chatbots_{name}_changelist") for name in BELOW}


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
