"""The Ctrl+K search finds menu entries and rows, but never other accounts' rows."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from chatbots.models import Chatbot
from conversations.models import Thread
from tests.factories.accounts import UserFactory
from tests.factories.chatbots import ChatbotFactory
from tests.factories.conversations import ThreadFactory, VisitorFactory
from tests.factories.staff import signed_in, superuser
from tests.factories.webhooks import DeliveryFactory
from webhooks.models import Delivery

SEARCH = reverse("admin:search")


@pytest.fixture
def client(chatbot: Chatbot) -> Client:
    Chatbot.objects.filter(pk=chatbot.pk).update(name="Shop one")
    return signed_in(chatbot.account.owner)


def furnish(chatbot: Chatbot) -> tuple[Thread, Delivery]:
    """Create Anna Berg's thread, and a delivery for it."""
    visitor = VisitorFactory(chatbot=chatbot, name="Anna Berg", email="a.berg@example.com")
    thread = ThreadFactory(chatbot=chatbot, visitor=visitor)
    return thread, DeliveryFactory(chatbot=chatbot, thread_id=thread.pk, state="FAILED")


def found(client: Client, text: object) -> list[tuple[str, str]]:
    """Assert that a search succeeds, and return the titles and links of its results."""
    page = client.get(SEARCH, {"s": str(text)})
    assert page.status_code == 200
    return [(result.title, result.link) for result in page.context["results"]]


def page_of(row: Any) -> str:
    name = row._meta.label_lower.replace(".", "_")
    return reverse(f"admin:{name}_change", args=[row.pk])


FOUND = dict.fromkeys(("ann", "berg ann", "anna b", "Anna BE", "a.berg@exa"), "Anna Berg")
FOUND |= {"inb": "Inbox", "LEADS": "Leads", "sho": "Shop one", "SHOP ONE": "Shop one"}
NOT_FOUND = ("plans", "nbox", "one", "anna x", "b", "%", "' OR 1=1", "x" * 5_000, " ")


@pytest.mark.parametrize("text", [*FOUND, *NOT_FOUND])
def test_names_are_found_by_their_beginning(client: Client, chatbot: Chatbot, text: str) -> None:
    furnish(chatbot)
    shown = [FOUND[text]] if text in FOUND else []
    assert [title for title, _ in found(client, text)] == shown


def test_a_complete_id_finds_its_pages(client: Client, chatbot: Chatbot) -> None:
    thread, delivery = furnish(chatbot)
    event = f"{delivery.event} FAILED"
    assert found(client, chatbot.pk) == [("Shop one", page_of(chatbot))]
    assert found(client, f" {str(delivery.pk).upper()} ") == [(event, page_of(delivery))]
    assert found(client, thread.pk) == [("Anna Berg", page_of(thread)), (event, page_of(delivery))]


def test_rows_of_other_accounts_are_never_found(client: Client) -> None:
    other = ChatbotFactory(name="Shop of others")
    rows = [other, *furnish(other)]
    for text in ("shop of", "anna", "a.berg@example.com", *(row.pk for row in rows)):
        assert found(client, text) == [], text
        assert found(signed_in(superuser()), text), text
    person = other.account.owner
    assert found(signed_in(person), "anna")
    other.account.owner = UserFactory()
    other.account.save()
    assert "/login/" in signed_in(person).get(SEARCH, {"s": "anna"})["Location"]


def test_anonymous_users_are_asked_to_sign_in() -> None:
    assert "/login/" in Client().get(SEARCH, {"s": "anna"})["Location"]
