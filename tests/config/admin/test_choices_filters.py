"""In a long filter, a person can reach any row by searching."""

import pytest
from django.test import Client
from django.urls import reverse

from chatbots.models import Chatbot, ChatbotMember
from tests.choices import copies, search, select, texts
from tests.factories.accounts import MembershipFactory
from tests.factories.chatbots import ChatbotFactory
from tests.factories.staff import signed_in, superuser

INBOX, LEADS, VISITORS, LOG = (
    reverse(f"admin:{name}_changelist")
    for name in (
        "conversations_thread",
        "conversations_lead",
        "conversations_visitor",
        "webhooks_delivery",
    )
)
PERSONAS = reverse("admin:chatbots_persona_changelist")
WHY = reverse("admin:chatbots_chatbot_why")


@pytest.fixture
def client(chatbot: Chatbot) -> Client:
    return signed_in(superuser())


@pytest.mark.parametrize("address", [INBOX, LEADS, VISITORS, LOG, PERSONAS])
def test_a_long_filter_is_searchable(client: Client, chatbot: Chatbot, address: str) -> None:
    tag, _ = select(client, address, "chatbot")
    assert "data-ajax" not in tag
    bots = copies(chatbot)
    tag, options = select(client, address, "chatbot")
    assert "data-ajax--url" in tag
    assert "unfold-filter-autocomplete" in tag
    assert str(bots[-1].pk) not in options
    assert 'data-field-name="chatbot"' in tag


def test_a_filter_offers_and_finds_only_the_persons_rows(chatbot: Chatbot) -> None:
    member = MembershipFactory(account=chatbot.account).user
    ChatbotMember.objects.create(chatbot=chatbot, user=member, role="agent")
    foreign = copies(ChatbotFactory())
    Chatbot.objects.filter(pk=chatbot.pk).update(name="zz mine")
    for client in (
        signed_in(member),
        signed_in(chatbot.account.owner),
    ):
        for address in (INBOX, LEADS, VISITORS, LOG, PERSONAS):
            _, options = select(client, address, "chatbot")
            assert [key for key in options if key] == [str(chatbot.pk)]
            assert "zz1001" not in client.get(address, {"chatbot": str(foreign[0].pk)}).text
        for field in ("conversations.thread.chatbot", "webhooks.delivery.chatbot"):
            assert texts(client, field, "zz") == ["zz mine"]
    page = client.get(WHY).text
    assert ("zz mine" in page, "zz1001" in page) == (True, False)
    assert search(client, "webhooks.delivery.account", foreign[0].account.name).json() == {
        "results": [],
        "pagination": {"more": False},
    }
