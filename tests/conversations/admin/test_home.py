"""The admin's home page and its menu."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.admin import site
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from chatbots.models import Chatbot
from config.database.ids import new_id
from conversations.admin.home import MENU, figure, first_id_of
from conversations.models import Message, Thread
from conversations.models.message import MessageType
from tests.factories.chatbots import ChatbotFactory
from tests.factories.conversations import MessageFactory, ThreadFactory
from tests.factories.staff import AGENTS, signed_in, staff, superuser
from tests.factories.webhooks import DeliveryFactory, EndpointFactory
from webhooks.models import Delivery

HOME = reverse("admin:index")
LOG = reverse("admin:webhooks_delivery_changelist")


@pytest.fixture
def client(chatbot: Chatbot) -> Client:
    return signed_in(staff(chatbot.account.owner, AGENTS))


def figures(client: Client) -> dict[str, str]:
    """Read the figures of the cards."""
    return {card.label: card.figure for card in client.get(HOME).context["cards"]}


def furnish(chatbot: Chatbot) -> None:
    """Create two waiting visitors, three failed deliveries, a failed sample and some old rows."""
    for _ in range(2):
        MessageFactory(thread=ThreadFactory(chatbot=chatbot, escalated=True))
    answered = ThreadFactory(chatbot=chatbot, escalated=True)
    MessageFactory(thread=answered, message_type=MessageType.AGENT_MESSAGE)
    for _ in range(3):
        DeliveryFactory(chatbot=chatbot, state="FAILED")
    DeliveryFactory(chatbot=chatbot)
    DeliveryFactory(chatbot=chatbot, state="FAILED", is_test=True)
    old = DeliveryFactory(chatbot=chatbot, state="FAILED")
    long_ago = timezone.now() - timedelta(hours=25)
    Delivery.objects.filter(pk=old.pk).update(created_at=long_ago)
    silent = ThreadFactory(chatbot=chatbot)
    Message.objects.bulk_create([Message(id=first_id_of(long_ago), thread=silent, position=1)])
    Message.objects.filter(thread=silent).update(created_at=long_ago)
    Thread.objects.filter(pk=silent.pk).update(updated_at=long_ago)


WANTED = {"waiting for a person": "2", "messages in 24 h": "3", "deliveries failed in 24 h": "3"}


def test_the_figures_count_only_the_users_own_chatbots(client: Client, chatbot: Chatbot) -> None:
    furnish(chatbot)
    furnish(ChatbotFactory())
    assert figures(client) == WANTED


def test_a_superuser_sees_the_figures_of_all_chatbots(chatbot: Chatbot) -> None:
    furnish(chatbot)
    assert figures(signed_in(superuser())) == WANTED


def test_the_cards_link_to_lists_of_the_rows_that_they_count(
    client: Client, chatbot: Chatbot
) -> None:
    furnish(chatbot)
    for card in client.get(HOME).context["cards"]:
        page = client.get(card.link)
        assert page.status_code == 200, card.link
        if card.wrong:
            assert len(page.context["cl"].result_list) == int(card.figure), card.link


def test_failing_receivers_are_named(client: Client, chatbot: Chatbot) -> None:
    EndpointFactory(chatbot=chatbot, url="https://shop.example/hook", failing_since=timezone.now())
    EndpointFactory(url="https://foreign.example/hook", failing_since=timezone.now())
    text = client.get(HOME).content.decode()
    assert "https://shop.example/hook" in text
    assert "foreign.example" not in text


def test_the_home_page_needs_the_same_queries_at_any_volume(
    client: Client, chatbot: Chatbot
) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as asked:
            client.get(HOME)
        return len(asked)

    furnish(chatbot)
    few = queries()
    for _ in range(3):
        furnish(chatbot)
    assert queries() == few


@pytest.mark.parametrize(
    ("count", "cap", "text"),
    [(0, 100, "0"), (99, 100, "99"), (100, 100, "99+"), (1_000, 1_000, "999+")],
)
def test_a_figure_is_capped(count: int, cap: int, text: str) -> None:
    assert figure(count, cap) == text


def test_the_first_id_of_a_moment_separates_earlier_from_later_ids() -> None:
    assert first_id_of(datetime.now(UTC) - timedelta(seconds=1)) < new_id()
    assert new_id() < first_id_of(datetime.now(UTC) + timedelta(seconds=1))


def test_the_menu_shows_only_permitted_pages(client: Client) -> None:
    shown = client.get(HOME).content.decode()
    assert reverse("admin:webhooks_delivery_changelist") in shown
    assert reverse("admin:accounts_plan_changelist") not in shown


def test_the_menu_lists_every_model_without_a_link_on_its_chatbots_page() -> None:
    listed = {entry.model for entries in MENU.values() for entry in entries}
    names = ("conversationstarter", "instruction", "localization", "persona")
    below = {f"chatbots.{name}" for name in names}
    assert listed == {model._meta.label_lower for model in site._registry} - below


@pytest.mark.parametrize("sending", [True, False])
def test_the_home_page_says_that_deliveries_and_mails_are_held(
    client: Client, settings: Any, sending: bool
) -> None:
    settings.SENDING = sending
    page = client.get(HOME).content.decode()
    assert ("Sending is off (SENDING=off)" in page) is not sending
    assert (
        "Sending is off"
        in client.get(reverse("admin:webhooks_delivery_changelist")).content.decode()
    ) is not sending
