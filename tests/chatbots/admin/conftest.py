"""A client that is signed in to the admin as the owner of the chatbot's account."""

import pytest
from django.test import Client

from chatbots.models import Chatbot
from tests.factories.staff import signed_in


@pytest.fixture
def client(chatbot: Chatbot) -> Client:
    return signed_in(chatbot.account.owner)
