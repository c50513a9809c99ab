"""A long select offers only some rows, but a search finds all of them, and the form accepts any."""

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import Account, ApiKey, User
from chatbots.models import Chatbot, ChatbotMember, GeneralSettings, LlmModel, Persona
from config.admin.choices import OFFERED
from tests.choices import OPTION, SEARCH, copies, search, select, texts
from tests.factories.accounts import PlanFactory
from tests.factories.chatbots import ChatbotFactory, LlmModelFactory
from tests.factories.staff import ACCOUNT_ADMINS, AGENTS, signed_in, staff, superuser
from tests.pages import submit

ADD_BOT, ADD_KEY, ADD_PERSONA = (
    reverse(f"admin:{name}_add")
    for name in ("chatbots_chatbot", "accounts_apikey", "chatbots_persona")
)


@pytest.fixture
def manager(chatbot: Chatbot) -> Client:
    return signed_in(staff(chatbot.account.owner, ACCOUNT_ADMINS))


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


@pytest.mark.parametrize("value", ["", "x", "9" * 5_000, "0" * 32])
def test_an_unknown_row_in_the_address_is_not_selected(
    manager: Client, chatbot: Chatbot, value: str
) -> None:
    for address in (ADD_BOT, ADD_KEY):
        page = manager.get(address, {"account": value})
        assert page.status_code == 200
        assert not [key for key, chosen in OPTION.findall(page.text) if chosen and key]


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


@pytest.mark.slow
def test_a_chatbot_accepts_models_and_people_that_its_selects_do_not_offer(
    chatbot: Chatbot, default_model: LlmModel
) -> None:
    client, model = signed_in(superuser()), copies(default_model, is_default="false")[-1]
    person = copies(chatbot.account.owner)[-1]
    address = reverse("admin:chatbots_chatbot_change", args=[chatbot.pk])
    member = {"memberships-TOTAL_FORMS": "1", "memberships-0-chatbot": str(chatbot.pk)}
    given = {
        "generalsettings-0-llm_model": str(model.pk),
        "memberships-0-user": str(person.pk),
        "memberships-0-role": "agent",
    }
    assert submit(client, address, **member, **given).status_code == 302
    assert GeneralSettings.objects.get(chatbot=chatbot).llm_model == model
    assert ChatbotMember.objects.get(chatbot=chatbot).user == person
    _, options = select(client, address, "generalsettings-0-llm_model")
    assert options[str(model.pk)]
    assert len(options) == OFFERED + 2


def test_an_accounts_owner_and_plan_are_kept_although_they_are_not_offered(
    chatbot: Chatbot,
) -> None:
    client, account = signed_in(superuser()), chatbot.account
    plan, owner = copies(PlanFactory(name="First"))[-1], copies(account.owner)[-1]
    Account.objects.filter(pk=account.pk).update(plan=plan, owner=owner)
    submit(client, reverse("admin:accounts_account_change", args=[account.pk]), name="Renamed")
    account.refresh_from_db()
    assert (account.name, account.plan, account.owner) == ("Renamed", plan, owner)


def test_a_list_is_filtered_by_a_plan(chatbot: Chatbot) -> None:
    client, plans = signed_in(superuser()), copies(PlanFactory(name="First"))
    Account.objects.filter(pk=chatbot.account_id).update(plan=plans[-1], name="Filtered")
    address = reverse("admin:accounts_account_changelist")
    assert "Filtered" in client.get(address, {"plan": str(plans[-1].pk)}).text
    assert "Filtered" not in client.get(address, {"plan": str(plans[0].pk)}).text
    _, options = select(client, f"{address}?plan={plans[-1].pk}", "plan")
    assert options[str(plans[-1].pk)]
    assert len(options) == OFFERED + 2


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


def test_a_search_returns_the_rows_sorted_by_name(manager: Client, chatbot: Chatbot) -> None:
    names = [bot.name for bot in copies(chatbot)]
    assert texts(manager, "chatbots.persona.chatbot", "zz1") == names[:20]


def test_agents_search_the_active_models_whose_pages_they_cannot_open(chatbot: Chatbot) -> None:
    LlmModelFactory(title="Large"), LlmModelFactory(title="Large, retired", is_active=False)
    member = ChatbotMember.objects.create(chatbot=chatbot, user=superuser(), role="agent").user
    User.objects.filter(pk=member.pk).update(is_superuser=False)
    member.refresh_from_db()
    client = signed_in(staff(member, AGENTS))
    assert client.get(reverse("admin:chatbots_llmmodel_changelist")).status_code == 403
    assert texts(client, "chatbots.generalsettings.llm_model", "large") == ["Large"]
    for field in ("accounts.account.plan", "accounts.account.owner", "chatbots.chatbot.account"):
        assert search(client, field, "").status_code == 403
