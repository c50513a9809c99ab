"""Provide clients that are signed in to the admin, and the address of a webhook's page."""

import pytest
from django.test import Client
from django.urls import reverse

from chatbots.models import Chatbot
from tests.factories.accounts import MembershipFactory
from tests.factories.chatbots import ChatbotMemberFactory
from tests.factories.staff import signed_in


@pytest.fixture
def client(chatbot: Chatbot) -> Client:
    return signed_in(chatbot.account.owner)


@pytest.fixture
def member(chatbot: Chatbot) -> Client:
    user = MembershipFactory(account=chatbot.account).user
    ChatbotMemberFactory(chatbot=chatbot, user=user)
    return signed_in(user)


@pytest.fixture
def address(chatbot: Chatbot) -> str:
    return reverse("admin:webhooks_endpoint_of", args=[chatbot.pk])
