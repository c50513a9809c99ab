"""The admin's home page: its cards, charts and tables, and the links to lists."""

import json
from collections import Counter
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from chatbots.models import Chatbot
from config.outbound.failures import Reason
from conversations.models import Lead
from conversations.models.message import MessageType
from conversations.services import escalation
from tests.factories.chatbots import ChatbotFactory
from tests.factories.conversations import MessageFactory, ThreadFactory
from tests.factories.staff import signed_in, superuser
from tests.factories.webhooks import DeliveryFactory, EndpointFactory

HOME = reverse("admin:index")


def cards(client: Client, query: str = "") -> dict[str, str]:
    """Return the figures on the cards, by label."""
    return {card.label: card.figure for card in client.get(HOME + query).context["cards"]}


def furnish(chatbot: Chatbot) -> None:
    """Create threads, messages, a lead and deliveries in the current hour."""
    for _ in range(2):
        waiting = ThreadFactory(chatbot=chatbot, escalated=True, waiting_since=timezone.now())
        MessageFactory(thread=waiting)
    answered = ThreadFactory(chatbot=chatbot)
    escalation.toggle(answered.pk)
    answered.refresh_from_db()
    answered.waiting_since = None
    answered.save()
    MessageFactory(thread=answered, message_type=MessageType.AGENT_MESSAGE)
    replied = ThreadFactory(chatbot=chatbot, negative_count=1, fallback_at=timezone.now())
    MessageFactory(thread=replied, message_type=MessageType.AI_MESSAGE)
    MessageFactory(thread=replied, message_type=MessageType.AI_MESSAGE, fallback_reason="timeout")
    Lead.objects.create(chatbot=chatbot, thread=replied)
    for state in ("FAILED", "FAILED", "FAILED", "SUCCESS", "PENDING"):
        DeliveryFactory(chatbot=chatbot, state=state)
    DeliveryFactory(chatbot=chatbot, state="FAILED", is_test=True)


def test_the_figures_count_only_the_users_own_chatbots(client: Client, chatbot: Chatbot) -> None:
    furnish(chatbot)
    furnish(ChatbotFactory())
    shown = cards(client)
    assert (shown.pop("waiting for a person"), shown.pop("messages")) == ("2", "5")
    assert (shown.pop("AI replies"), shown.pop("deliveries failed")) == ("2", "3")
    assert shown == {
        "fallback replies": "1",
        "conversations with a thumbs-down": "1",
        "escalations": "1",
        "leads": "1",
    }


@pytest.mark.parametrize("span", ["1h", "24h", "7d", "30d", "unknown"])
def test_the_tables_show_the_figures_of_the_charts(
    client: Client, chatbot: Chatbot, span: str
) -> None:
    furnish(chatbot)
    page = client.get(f"{HOME}?span={span}")
    messages, deliveries = page.context["charts"]
    for chart in (messages, deliveries):
        drawn = json.loads(chart.value)
        bars = zip(*(one["data"] for one in drawn["datasets"]), strict=True)
        assert list(zip(drawn["labels"], map(list, bars), strict=True)) == chart.rows
        assert [one["label"] for one in drawn["datasets"]] == chart.head
    assert sum(counts[0] for _, counts in messages.rows) == 5
    assert Counter(deliveries.head) == Counter(["Success", "Retrying", "Pending", "Failed"])
    assert sum(counts[3] for _, counts in deliveries.rows) == 3
    assert page.content.count(b'role="img"') == 2
    assert f"Deliveries by state, {page.context['figures'].span.label}" in page.content.decode()


@pytest.mark.slow
def test_the_cards_link_to_lists_of_the_chosen_account_and_chatbot(chatbot: Chatbot) -> None:
    for bot in (chatbot, ChatbotFactory(account=chatbot.account), ChatbotFactory()):
        furnish(bot)
    exact = ("deliveries failed", "leads", "waiting for a person")
    exact += ("conversations with a thumbs-down",)
    agent = signed_in(chatbot.account.owner)
    for user, query, times in (
        (signed_in(superuser()), "", 3),
        (signed_in(superuser()), f"?account={chatbot.account_id}", 2),
        (signed_in(superuser()), f"?account={chatbot.account_id}&chatbot={chatbot.pk}", 1),
        (signed_in(superuser()), "?account=unknown", 0),
        (signed_in(superuser()), "?chatbot=unknown", 0),
        (agent, f"?account={chatbot.account_id}", 2),
        (agent, f"?chatbot={chatbot.pk}", 1),
    ):
        for card in user.get(HOME + query).context["cards"]:
            shown = user.get(card.link).context["cl"].result_list
            bots = {row.chatbot_id for row in shown}
            assert len(bots) == times, (query, card.link)
            assert card.label not in exact or len(shown) == int(card.figure), (query, card.link)


def test_failing_receivers_are_named_with_their_last_error(
    client: Client, chatbot: Chatbot
) -> None:
    EndpointFactory(chatbot=chatbot, url="https://shop.example/hook", failing_since=timezone.now())
    DeliveryFactory(chatbot=chatbot, state="FAILED", last_reason=Reason.TIMEOUT)
    DeliveryFactory(chatbot=chatbot, state="PENDING", due_at=timezone.now())
    DeliveryFactory(chatbot=chatbot, state="RETRYING", due_at=timezone.now(), last_code=503)
    EndpointFactory(url="https://foreign.example/hook", failing_since=timezone.now())
    page = client.get(HOME)
    [failing] = page.context["failing"]
    assert (failing.waiting, failing.last_error) == ("2", "status 503")
    text = page.content.decode()
    assert "https://shop.example/hook" in text
    assert "foreign.example" not in text


@pytest.mark.parametrize("sending", [True, False])
def test_the_home_page_says_whether_deliveries_and_emails_are_held(
    client: Client, settings: Any, sending: bool
) -> None:
    settings.SENDING = sending
    page = client.get(HOME).content.decode()
    assert ("Sending is off (SENDING=off)" in page) is not sending
    log = client.get(reverse("admin:webhooks_delivery_changelist")).content.decode()
    assert ("Sending is off" in log) is not sending


def test_a_superuser_of_a_new_installation_learns_where_to_begin(db: None) -> None:
    client = signed_in(superuser())
    assert "There are no chatbots yet. Add one on the page of an" in client.get(HOME).text
    ChatbotFactory()
    assert "There are no chatbots" not in client.get(HOME).text
