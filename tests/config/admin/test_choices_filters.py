"""In a long filter, a person can reach any row by searching or by narrowing the options."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from chatbots.models import Chatbot, ChatbotMember, Persona
from tests.choices import copies, search, select, texts
from tests.factories.accounts import MembershipFactory, PlanFactory
from tests.factories.chatbots import ChatbotFactory
from tests.factories.staff import ACCOUNT_ADMINS, AGENTS, signed_in, staff, superuser

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
SHOWN = re.compile(r"<noscript>.*?name=\"(\w+)_begins\" value=\"([^\"]*)\"", re.S)


@pytest.fixture
def client(chatbot: Chatbot) -> Client:
    return signed_in(superuser())


def narrowed(client: Client, address: str, name: str, beginning: str) -> list[str]:
    """Narrow a filter, and return the ids of the rows that it offers.

    `beginning` is either the first letters of a name or a complete id.
    """
    _, options = select(client, f"{address}?{name}_begins={beginning}", name)
    return [key for key in options if key]


@pytest.mark.parametrize("address", [INBOX, LEADS, VISITORS, LOG, PERSONAS])
def test_a_long_filter_is_searchable_and_can_be_narrowed(
    client: Client, chatbot: Chatbot, address: str
) -> None:
    tag, _ = select(client, address, "chatbot")
    assert "data-ajax" not in tag
    assert "_begins" not in client.get(address).text
    bots = copies(chatbot)
    tag, options = select(client, address, "chatbot")
    assert "data-ajax--url" in tag
    assert "unfold-filter-autocomplete" in tag
    assert str(bots[-1].pk) not in options
    assert 'data-field-name="chatbot"' in tag
    assert SHOWN.search(client.get(address).text)
    assert narrowed(client, address, "chatbot", "ZZ1200") == [str(bots[-1].pk)]
    assert narrowed(client, address, "chatbot", str(bots[-1].pk)) == [str(bots[-1].pk)]


def test_narrowing_leaves_the_list_and_the_selected_row_as_they_are(
    client: Client, chatbot: Chatbot
) -> None:
    bots = copies(chatbot)
    Persona.objects.create(chatbot=chatbot, title="Kept")
    query = {"chatbot": str(chatbot.pk), "chatbot_begins": "zz1200"}
    page = client.get(PERSONAS, query).text
    assert "Kept" in page
    found = SHOWN.search(page)
    assert found and found[2] == "zz1200"
    _, options = select(client, f"{PERSONAS}?chatbot={chatbot.pk}&chatbot_begins=zz1200", "chatbot")
    assert options == {"": False, str(bots[-1].pk): False, str(chatbot.pk): True}
    assert SHOWN.search(client.get(PERSONAS, {"chatbot_begins": "no such name"}).text)


def test_accounts_and_plans_are_found_beyond_those_offered(
    client: Client, chatbot: Chatbot
) -> None:
    account, plan = copies(chatbot.account)[-1], copies(PlanFactory(name="First"))[-1]
    for address in (LOG, INBOX, LEADS):
        tag, options = select(client, address, "account")
        assert "data-ajax--url" in tag
        assert str(account.pk) not in options
        field = ".".join(re.findall(r'data-(?:app-label|model-name|field-name)="(\w+)"', tag))
        assert texts(client, field, "zz1200") == [account.name]
        assert narrowed(client, address, "account", "zz1200") == [str(account.pk)]
    accounts = reverse("admin:accounts_account_changelist")
    assert texts(client, "accounts.account.plan", "zz1200") == [plan.name]
    assert narrowed(client, accounts, "plan", "zz1200") == [str(plan.pk)]


def test_the_page_about_permissions_reaches_every_chatbot(client: Client, chatbot: Chatbot) -> None:
    assert "chatbot_begins" not in client.get(WHY).text
    last = copies(chatbot)[-1]
    tag, options = select(client, WHY, "chatbot")
    assert "data-ajax--url" in tag
    assert str(last.pk) not in options
    narrowing = {"email": "", "chatbot_begins": "zz1200", "narrow": "1"}
    page = client.get(WHY, narrowing).text
    assert "This field is required" not in page, "the form has not been submitted yet"
    assert f'<option value="{last.pk}"' in page
    assert f'<option value="{chatbot.pk}"' not in page
    owner = chatbot.account.owner.email
    asked = {"email": owner, "chatbot": str(last.pk), "action": "use_chatbot"}
    given = client.get(WHY, asked | {"chatbot_begins": "other"}).text
    assert f'<option value="{last.pk}" selected' in given


def test_a_filter_offers_and_finds_only_the_persons_rows(chatbot: Chatbot) -> None:
    member = MembershipFactory(account=chatbot.account).user
    ChatbotMember.objects.create(chatbot=chatbot, user=member, role="agent")
    foreign = copies(ChatbotFactory())
    Chatbot.objects.filter(pk=chatbot.pk).update(name="zz mine")
    for client in (
        signed_in(staff(member, AGENTS)),
        signed_in(staff(chatbot.account.owner, ACCOUNT_ADMINS)),
    ):
        for address in (INBOX, LEADS, VISITORS, LOG, PERSONAS):
            assert narrowed(client, address, "chatbot", "zz") == [str(chatbot.pk)]
            assert narrowed(client, address, "chatbot", str(foreign[0].pk)) == []
            assert "zz1001" not in client.get(address, {"chatbot": str(foreign[0].pk)}).text
        for field in ("conversations.thread.chatbot", "webhooks.delivery.chatbot"):
            assert texts(client, field, "zz") == ["zz mine"]
    page = client.get(WHY, {"chatbot_begins": "zz", "narrow": "1", "email": ""}).text
    assert "zz mine" in page
    assert "zz1001" not in page
    assert narrowed(client, LOG, "chatbot", "zz") == [str(chatbot.pk)]
    assert search(client, "webhooks.delivery.account", foreign[0].account.name).json() == {
        "results": [],
        "pagination": {"more": False},
    }


def test_a_person_with_many_chatbots_reaches_the_last(chatbot: Chatbot) -> None:
    client = signed_in(staff(chatbot.account.owner, ACCOUNT_ADMINS))
    last = copies(chatbot)[-1]
    for address in (INBOX, LOG, PERSONAS):
        tag, _ = select(client, address, "chatbot")
        assert "data-ajax--url" in tag
        assert narrowed(client, address, "chatbot", "zz1200") == [str(last.pk)]
