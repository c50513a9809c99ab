"""Leads are found by what people type: a name, an email address or a phone number."""

import pytest
from django.test import Client
from django.urls import reverse

from chatbots.models import Chatbot
from tests.factories.chatbots import ChatbotFactory
from tests.factories.conversations import LeadFactory, ThreadFactory, VisitorFactory
from tests.factories.staff import signed_in

CONTACT = {"name": "Anna Berg", "email": "a.berg@example.com", "phone": "+43 (664) 123-45.67"}


def lead_of(chatbot: Chatbot, **contact: str) -> str:
    visitor = VisitorFactory(chatbot=chatbot, **contact)
    thread = ThreadFactory(chatbot=chatbot, visitor=visitor)
    return str(LeadFactory(thread=thread, chatbot=chatbot, **contact).pk)


@pytest.fixture
def client(chatbot: Chatbot) -> Client:
    return signed_in(chatbot.account.owner)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        *(
            (text, True)
            for text in ("anna", "Berg anna", "ber", "a.berg@example.com", "a.berg@exam")
        ),
        *((text, True) for text in (CONTACT["phone"], "0664 1234567", "436641234567", "123 45 67")),
        *((text, False) for text in ("annas", "b.berg@example.com", "0664 1234568", "0000")),
    ],
)
def test_a_lead_is_found_by_name_email_and_phone(
    client: Client, chatbot: Chatbot, text: str, found: bool
) -> None:
    wanted = lead_of(chatbot, **CONTACT)
    lead_of(chatbot, name="Bob", email="bob@example.net", phone="+1 555 0100")
    lead_of(ChatbotFactory(), **CONTACT)  # of another account
    page = client.get(reverse("admin:conversations_lead_changelist"), {"q": text})
    shown = [str(lead.pk) for lead in page.context["cl"].result_list]
    assert shown == ([wanted] if found else [])
