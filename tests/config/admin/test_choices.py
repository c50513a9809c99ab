"""A long select offers only some rows, but a search finds all of them, and the form accepts any."""

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import Account, ApiKey
from chatbots.models import Chatbot, Persona
from config.admin.choices import OFFERED
from tests.choices import SEARCH, copies, select, texts
from tests.factories.chatbots import ChatbotFactory
from tests.factories.staff import signed_in
from tests.pages import submit

ADD_BOT, ADD_KEY, ADD_PERSONA = (
    reverse(f"admin:{name}_add")
    for name in ("chatbots_chatbot", "accounts_apikey", "chatbots_persona")
)


@pytest.fixture
def manager(chatbot: Chatbot) -> Client:
    return signed_in(chatbot.account.owner)


def test_a_short_select_offers_all_rows_and_is_not_searchable(
    manager: Client, chatbot: Chatbot
) -> None:
    tag, options = select(manager, ADD_BOT, "account")
    assert options == {"": True, str(chatbot.account_id): False}
    assert "data-ajax" not in tag


def test_a_long_select_offers_the_first_rows_by_name_and_the_selected_one(
    manager: Client, chatbot: Chatbot
) -> None:
    bots = copies(chatbot)
    tag, options = select(manager, ADD_PERSONA, "chatbot")
    assert list(options) == ["", str(chatbot.pk), *(str(bot.pk) for bot in bots[:-1])]
    assert f'data-ajax--url="{SEARCH}"' in tag
    _, options = select(manager, f"{ADD_PERSONA}?chatbot={bots[-1].pk}", "chatbot")
    assert len(options) == OFFERED + 2
    assert [value for value, chosen in options.items() if chosen] == [str(bots[-1].pk)]


def test_a_row_of_another_account_is_neither_offered_nor_accepted(
    manager: Client, chatbot: Chatbot
) -> None:
    other = ChatbotFactory()
    for address, name, row in (
        (ADD_PERSONA, "chatbot", other),
        (ADD_BOT, "account", other.account),
        (ADD_KEY, "account", other.account),
    ):
        _, options = select(manager, f"{address}?{name}={row.pk}", name)
        assert str(row.pk) not in options
        given = {name: str(row.pk), "name": "New", "title": "New", "description": "more"}
        assert "Select a valid choice" in submit(manager, address, **given).text
    assert not Persona.objects.filter(title="New").exists()
    assert not Chatbot.objects.filter(name="New").exists()
    assert not ApiKey.objects.filter(account=other.account).exists()


def test_a_form_accepts_a_row_that_its_select_does_not_offer(
    manager: Client, chatbot: Chatbot
) -> None:
    last = {type(row): copies(row)[-1] for row in (chatbot.account, chatbot)}
    [account, bot] = (last[kind] for kind in (Account, Chatbot))
    submit(manager, ADD_BOT, account=str(account.pk), name="New", description="more")
    assert Chatbot.objects.get(name="New").account == account
    submit(manager, ADD_KEY, account=str(account.pk), label="New")
    assert ApiKey.objects.get(label="New").account == account
    submit(manager, ADD_PERSONA, chatbot=str(bot.pk), title="New")
    assert Persona.objects.get(title="New").chatbot == bot


def test_a_search_finds_only_rows_that_the_person_may_choose(
    manager: Client, chatbot: Chatbot
) -> None:
    account = ChatbotFactory(name=f"{chatbot.name} foreign").account
    Account.objects.filter(pk=account.pk).update(name=f"{chatbot.account.name} foreign")
    for field, row in (
        ("chatbots.chatbot.account", chatbot.account),
        ("accounts.apikey.account", chatbot.account),
        ("chatbots.persona.chatbot", chatbot),
    ):
        assert texts(manager, field, row.name) == [row.name]
        assert texts(manager, field, "") == [row.name]
