"""Fixtures: an agent who owns the chatbot's account, and a client signed in as this agent."""

import pytest
from django.test import Client

from accounts.models import User
from chatbots.models import Chatbot
from tests.factories.staff import signed_in


@pytest.fixture
def agent(chatbot: Chatbot) -> User:
    return chatbot.account.owner


@pytest.fixture
def client(agent: User) -> Client:
    return signed_in(agent)
