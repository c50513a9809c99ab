"""Fixtures and hooks for all tests: API callers, stand-ins for other servers, a clean cache."""

import gc
import logging
import os
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import orjson
import pytest
from django.conf import settings
from django.contrib import admin
from django.db import connection
from django.test import Client
from django.utils import timezone
from pytest_django.plugin import DjangoDbBlocker

from accounts.hashing import PasswordHasher
from accounts.services import api_key as keys
from chatbots.models import Chatbot, LlmModel
from tests import counters, migrated_rows, static_files
from tests.factories.accounts import AccountFactory
from tests.factories.chatbots import ChatbotFactory, LlmModelFactory
from tests.factories.row import out_of_trail
from tests.patience import give_time
from tests.servers import certificates
from tests.servers.model import ModelServer
from tests.servers.receiver import Receiver

pytest_plugins = ["tests.groups"]

# Tests that start processes or need a browser or another tool, by the beginnings of their ids.
# `make test` leaves them out; `make test-all` runs them. Other tests carry the marker themselves.
PROCESSES = (
    *("tests/browser/", "tests/docs/", "tests/faults/", "tests/tools/"),
    *("tests/service/test_alerts", "tests/service/test_secrets_canary"),
    *("tests/accounts/test_idempotency.py::test_a_process_that_dies",),
    *("tests/config/api/test_limits.py::test_exactly", "tests/config/api/test_limits.py::test_a_"),
    *("tests/config/database/test_availability", "tests/config/runtime/test_commands"),
    *("tests/config/test_metrics", "tests/config/test_middleware_headers.py::test_cookies"),
    *("tests/config/test_wsgi", "tests/contract/test_endpoints_generated", "tests/house/test_make"),
    *("tests/contract/test_endpoints_races.py::test_concurrent_selections",),
    *("tests/contract/test_endpoints_schemathesis", "tests/conversations/commands/test_serve"),
    "tests/webhooks/commands/test_webhook_sink",
)


def pytest_configure(config: pytest.Config) -> None:
    for marker in (
        "proves(rule, ...): the rules of docs/specification-index.toml that a test proves",
        "slow: runs only in make test-all, because it takes several seconds",
        "processes: runs only in make test-all, because it needs processes or other tools",
    ):
        config.addinivalue_line("markers", marker)
    PasswordHasher.iterations = 1_000  # makes tests faster; servers under test use the real number
    admin.autodiscover()  # so that no test's first request has to load the admin's pages
    logging.raiseExceptions = False  # pytest may close a stream before the last line is logged
    give_time(settings.DATABASES["default"], settings.CACHES["default"])
    # Disable the timeout for idle transactions, because a test's transaction stays open as long as
    # the test runs. If an option is given twice, PostgreSQL uses the last value.
    if "options" in (given := settings.DATABASES["default"]["OPTIONS"]):
        given["options"] += " -c idle_in_transaction_session_timeout=0"
    # Serve static files from the packages, even if `make run` has collected them.
    settings.STATIC_ROOT, settings.WHITENOISE_USE_FINDERS = settings.STATE_DIR / "static", True
    static_files.find_once()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """For `-n auto`, run one more process than there are cores, because many tests mostly wait."""
    return (os.cpu_count() or 1) + 1 if config.option.numprocesses == "auto" else None


@pytest.hookimpl(tryfirst=True)  # before pytest selects tests by their markers
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that `make test` leaves out, and run them first, because they take longest."""
    for item in items:
        if item.nodeid.startswith(PROCESSES):
            item.add_marker(pytest.mark.processes)
    items.sort(key=lambda item: item.get_closest_marker("processes") is None)


def pytest_collection_finish() -> None:
    """Exempt all current objects from garbage collection, and collect garbage less often.

    This saves 10% of the suite's processor time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


class Api:
    """A client that calls the API with JSON bodies and with its API key, if it has one."""

    def __init__(self, key: str | None) -> None:
        self.key = key
        self.client = Client(raise_request_exception=False)

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        known = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        raw = body if isinstance(body, bytes) else b"" if body is None else orjson.dumps(body)
        return self.client.generic(
            method,
            f"/api{path}",
            raw,
            content_type="application/json" if raw else "",
            headers=known | {name.replace("_", "-"): value for name, value in headers.items()},
        )

    def get(self, path: str, **headers: str) -> Any:
        return self.call("GET", path, **headers)

    def post(self, path: str, body: Any = None, **headers: str) -> Any:
        return self.call("POST", path, body, **headers)

    def put(self, path: str, body: Any = None, **headers: str) -> Any:
        return self.call("PUT", path, body, **headers)

    def patch(self, path: str, body: Any = None, **headers: str) -> Any:
        return self.call("PATCH", path, body, **headers)

    def delete(self, path: str, **headers: str) -> Any:
        return self.call("DELETE", path, **headers)


def caller(user: Any) -> Api:
    """Issue a key for a user. Returns an API client that uses the key."""
    with out_of_trail():
        return Api(keys.issue(user)[1])


def do_not_wait_for_the_disk() -> None:
    """Make commits return immediately, because the test database need not survive a crash."""
    if connection.vendor == "postgresql":
        name = connection.ops.quote_name(connection.settings_dict["NAME"])
        with connection.cursor() as cursor:
            cursor.execute(f"ALTER DATABASE {name} SET synchronous_commit = off")
        connection.close()
        connection.close_pool()  # type: ignore[attr-defined] # the setting applies only to new connections


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> None:
    """Keep the rows that migrations create.

    Otherwise, the flush after a test that commits would delete them.
    """
    with django_db_blocker.unblock():
        do_not_wait_for_the_disk()
        migrated_rows.keep()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Wait if an hour or a month is about to end, because counts and quotas then start over."""
    while ends_soon(timezone.now()):
        time.sleep(1)


def ends_soon(now: datetime) -> bool:
    """Return whether the hour ends within 15 seconds, or the month within a minute."""
    hour_ends = (now + timedelta(seconds=15)).hour != now.hour
    return hour_ends or (now + timedelta(minutes=1)).month != now.month


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
def receiver() -> Iterator[Receiver]:
    """A webhook receiver with a certificate that the tests trust."""
    with Receiver(certificates.good()) as server:
        yield server


@pytest.fixture
def model() -> Iterator[ModelServer]:
    """A server that implements the API of a language model."""
    with ModelServer() as server:
        yield server
