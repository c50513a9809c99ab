"""Fixtures for all tests: API callers and an empty cache."""

import logging
import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import orjson
import pytest
from django.conf import settings
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone
from pytest_django.plugin import DjangoDbBlocker

from accounts.hashing import PasswordHasher
from accounts.services import api_key as keys
from chatbots.models import Chatbot, LlmModel
from tests import counters, migrated_rows
from tests.factories.accounts import AccountFactory, MembershipFactory
from tests.factories.chatbots import ChatbotFactory, LlmModelFactory
from tests.patience import give_time

pytest_plugins = ["tests.groups"]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "proves(rule, ...): what of docs/specification-index.toml a test proves"
    )
    PasswordHasher.iterations = 1_000  # servers that tests start hash as in production
    logging.raiseExceptions = False  # pytest closes the stream of a late log line
    give_time(settings.DATABASES["default"], settings.CACHES["default"])
    # a test's own transaction lasts as long as the test
    settings.DATABASES["default"]["OPTIONS"].pop("options", None)


class Api:
    """A caller of the API: JSON in, JSON out, one key."""

    def __init__(self, key: str | None) -> None:
        self.key = key
        self.client = Client(raise_request_exception=False)

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> HttpResponse:
        known = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        raw = body if isinstance(body, bytes) else b"" if body is None else orjson.dumps(body)
        return self.client.generic(
            method,
            f"/api{path}",
            raw,
            content_type="application/json" if raw else "",
            headers=known | {name.replace("_", "-"): value for name, value in headers.items()},
        )

    def get(self, path: str, **headers: str) -> HttpResponse:
        return self.call("GET", path, **headers)

    def post(self, path: str, body: Any = None, **headers: str) -> HttpResponse:
        return self.call("POST", path, body, **headers)

    def put(self, path: str, body: Any = None, **headers: str) -> HttpResponse:
        return self.call("PUT", path, body, **headers)

    def patch(self, path: str, body: Any = None, **headers: str) -> HttpResponse:
        return self.call("PATCH", path, body, **headers)

    def delete(self, path: str, **headers: str) -> HttpResponse:
        return self.call("DELETE", path, **headers)


def caller(user: Any) -> Api:
    """Issue a key for a user; returns a caller with it."""
    return Api(keys.issue(user)[1])


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> None:
    """Keep the rows of migrations for tests that commit, which empty the tables at their end."""
    with django_db_blocker.unblock():
        migrated_rows.keep()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Start no test in the last minute of a month, because quotas reset with the next one."""
    while (now := timezone.now()).month != (now + timedelta(minutes=1)).month:
        time.sleep(1)


@pytest.fixture(autouse=True)
def clean_cache() -> Iterator[None]:
    yield
    counters.forget()


@pytest.fixture
def default_model(db: None) -> Any:
    return LlmModel.objects.filter(is_default=True).first() or LlmModelFactory(is_default=True)


@pytest.fixture
def chatbot(default_model: Any) -> Chatbot:
    """A chatbot with its settings, in its own account."""
    return ChatbotFactory()


@pytest.fixture
def api(chatbot: Chatbot) -> Api:
    """A caller that owns the chatbot's account."""
    return caller(chatbot.account.owner)


@pytest.fixture
def stranger(db: None) -> Api:
    """A caller that owns another account."""
    return caller(AccountFactory().owner)


@pytest.fixture
def bystander(chatbot: Chatbot) -> Api:
    """A caller that is a member of the chatbot's account but was added to no chatbot."""
    return caller(MembershipFactory(account=chatbot.account).user)
