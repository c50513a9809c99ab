"""Fixtures for a chatbot's account and API path, and helpers for members and concurrent calls."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from django.db import connections

from accounts.models import Account
from chatbots.models import Chatbot
from tests.conftest import Api, caller
from tests.factories.accounts import MembershipFactory

FORM_FIELD = {
    "display_label": "Company",
    "field_name": "company_name",
    "field_type": "text",
    "required": True,
}


@pytest.fixture
def account(chatbot: Chatbot) -> Account:
    return chatbot.account


@pytest.fixture
def here(chatbot: Chatbot) -> str:
    return f"/v1/chatbots/chatbot/{chatbot.pk}"


def member(account: Account, **fields: Any) -> Api:
    """Create a member of an account. Returns an API client with this person's key."""
    return caller(MembershipFactory(account=account, **fields).user)


def at_once(calls: list[Callable[[], Any]]) -> list[Any]:
    """Run the calls concurrently, each in its own thread. Returns their results."""
    together = Barrier(len(calls))

    def run(call: Callable[[], Any]) -> Any:
        together.wait()
        try:
            return call()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(calls)) as threads:
        return list(threads.map(run, calls))
