"""On the home page, users choose an account and a chatbot by name from those they may see."""

import pytest
from django.test import Client
from django.urls import reverse

from chatbots.models import Chatbot
from conversations.admin.choice import Choice
from tests.factories.accounts import AccountFactory
from tests.factories.chatbots import ChatbotFactory
from tests.factories.staff import signed_in, superuser

HOME = reverse("admin:index")


@pytest.fixture
def bots(default_model: object) -> list[Chatbot]:
    acme, globex = AccountFactory(name="Acme"), AccountFactory(name="Globex")
    return [
        ChatbotFactory(account=acme, name="Shop"),
        ChatbotFactory(account=acme, name="Shop 2"),
        ChatbotFactory(account=acme, name="Help"),
        ChatbotFactory(account=globex, name="Shop"),
    ]


def choice(client: Client, **given: object) -> Choice:
    page = client.get(HOME, given)
    assert page.status_code == 200
    found: Choice = page.context["choice"]
    return found


@pytest.mark.parametrize(
    ("chatbot", "account", "numbers", "fault"),
    [
        *(("help", "", [2], ""), ("HE", "", [2], ""), ("Shop 2", "", [1], "")),
        *(("shop", "acme", [0], ""), ("Shop", "glo", [3], ""), ("", "Acme", [0, 1, 2], "")),
        ("Shop", "", [], "Several chatbots match “Shop”: enter the chatbot's id."),
        ("S", "Acme", [], "Several chatbots match “S”: type more of the name."),
        ("elp", "", [], "No chatbot matches “elp”."),
        ("help", "Globex", [], "No chatbot matches “help”."),
        ("", "x%", [], "No account matches “x%”."),
    ],
)
def test_a_name_is_found_by_its_beginning(
    bots: list[Chatbot], chatbot: str, account: str, numbers: list[int], fault: str
) -> None:
    found = choice(signed_in(superuser()), chatbot=chatbot, account=account)
    assert found.chatbots is not None
    assert set(found.chatbots) == {bots[number].pk for number in numbers}
    assert (found.chatbot.fault or found.account.fault) == fault


def test_ids_in_links_are_accepted_and_shown_as_names(bots: list[Chatbot]) -> None:
    found = choice(signed_in(superuser()), chatbot=bots[3].pk, account=bots[3].account_id)
    assert (found.chatbots, found.chatbot.text, found.account.text) == (
        [bots[3].pk],
        "Shop",
        "Globex",
    )
    for _, link, _ in found.spans():
        assert f"chatbot={bots[3].pk}" in link


def test_only_names_that_the_person_may_see_are_found_and_suggested(bots: list[Chatbot]) -> None:
    client = signed_in(bots[3].account.owner)
    assert choice(client).accounts == ["Globex"]
    for given in ({"chatbot": "Help"}, {"account": "Acme"}, {"chatbot": bots[0].pk}):
        found = choice(client, **given)
        assert found.chatbots == []
        assert found.chatbot.fault or found.account.fault
    page = client.get(HOME, {"chatbot": bots[0].pk}).content.decode()
    assert "Acme" not in page
    assert "Help" not in page
