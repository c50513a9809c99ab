"""The limits for each address, each user and each plan, and the monthly quota."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import Plan, Usage
from accounts.quotas import month_of
from chatbots.models import Chatbot
from conversations.models import Message
from tests import counters
from tests.conftest import Api, caller
from tests.factories.accounts import AccountFactory
from tests.factories.chatbots import ChatbotFactory
from tests.factories.conversations import ThreadFactory

pytestmark = pytest.mark.proves("Limits")

HOUR = 3600
NOW = 1_800_000_000.0  # the time at which the clock is frozen


@pytest.fixture(autouse=True)
def fresh_windows(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Reset the counters and freeze the clock, so that no limit's window ends during a test."""
    counters.forget()
    monkeypatch.setattr("time.time", lambda: NOW)
    yield


def refused(answer: Any, *, limit: int, window: int, code: str | None = None) -> int:
    """Assert that a response is a 429 with the documented fields. Returns its `retryAfter`."""
    assert answer.status_code == 429
    told = answer.json()
    later = told["retryAfter"]
    assert 1 <= later <= window
    assert type(later) is int
    assert answer["Retry-After"] == str(later)
    assert told == {
        "success": False,
        "message": "monthly message quota exhausted" if code else "too many requests",
        **({"code": code} if code else {}),
        "retryAfter": later,
        "limit": limit,
        "remaining": 0,
        "windowSeconds": window,
    }
    return int(later)


@pytest.mark.proves("Limits/address", "Bodies/rate-limit", "HTTP statuses/429")
def test_an_address_is_counted_before_any_other_check(settings: Any, db: None) -> None:
    settings.RATE_LIMIT_IP = (3, HOUR)
    statuses = [Api("garbage").get("/v1/chatbots").status_code for _ in range(3)]
    assert statuses == [401] * 3
    refused(Api("garbage").get("/v1/chatbots"), limit=3, window=HOUR)
    other = Client(REMOTE_ADDR="192.0.2.9")
    assert other.get("/api/v1/chatbots").status_code == 401
    assert Client().get("/healthz").status_code == 200  # probes are not limited


@pytest.mark.parametrize(
    ("first", "second", "alike"),
    [
        ("192.0.2.1", "192.0.2.2", False),
        ("2001:db8:0:1::1", "2001:db8:0:1:ffff::2", True),
        ("2001:db8:0:1::1", "2001:db8:0:2::1", False),
        ("192.0.2.1", "::ffff:192.0.2.1", True),
    ],
)
def test_an_ipv6_network_of_64_bits_counts_as_one_address(
    settings: Any, first: str, second: str, alike: bool
) -> None:
    settings.RATE_LIMIT_IP = (1, HOUR)
    Client(REMOTE_ADDR=first).get("/api/nowhere")
    again = Client(REMOTE_ADDR=second).get("/api/nowhere")
    assert again.status_code == (429 if alike else 404)


@pytest.mark.proves("Limits/user", "Bodies/rate-limit")
def test_a_user_is_counted_across_all_keys_and_operations(
    settings: Any, api: Api, chatbot: Chatbot, stranger: Api
) -> None:
    settings.RATE_LIMIT_USER = (2, HOUR)
    assert api.get("/v1/chatbots").status_code == 200
    assert caller(chatbot.account.owner).get("/v1/chatbots/my-chatbots").status_code == 200
    refused(api.get("/v1/chatbots"), limit=2, window=HOUR)
    assert stranger.get("/v1/chatbots").status_code == 200


def test_a_disabled_limit_counts_nothing(settings: Any, api: Api) -> None:
    settings.RATE_LIMIT_IP = settings.RATE_LIMIT_USER = None
    assert {api.get("/v1/chatbots").status_code for _ in range(5)} == {200}


def test_a_new_window_starts_at_zero(
    settings: Any, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.RATE_LIMIT_USER = (1, HOUR)
    api.get("/v1/chatbots")
    refused(api.get("/v1/chatbots"), limit=1, window=HOUR)
    monkeypatch.setattr("time.time", lambda: NOW + HOUR)
    assert api.get("/v1/chatbots").status_code == 200


class TestPlan:
    """A plan's limits and quota, which the whole account shares."""

    @pytest.fixture
    def plan(self, chatbot: Chatbot) -> Plan:
        plan = chatbot.account.plan
        Plan.objects.filter(pk=plan.pk).update(
            messages_per_minute=1000, ai_replies_per_minute=1000, monthly_messages=None
        )
        return plan

    @pytest.fixture
    def there(self, chatbot: Chatbot) -> str:
        return f"/v1/chatting/{chatbot.pk}/thread/{ThreadFactory(chatbot=chatbot).pk}/message"

    def send(self, api: Api, there: str) -> Any:
        return api.post(there, {"content": "Hello"})

    @pytest.mark.proves("Limits/messages")
    def test_messages_are_counted_per_account(
        self, api: Api, chatbot: Chatbot, plan: Plan, there: str
    ) -> None:
        Plan.objects.update(messages_per_minute=2)
        assert [self.send(api, there).status_code for _ in range(2)] == [200, 200]
        before = Message.objects.count()
        refused(self.send(api, there), limit=2, window=60)
        sibling = ThreadFactory(chatbot=ChatbotFactory(account=chatbot.account))
        path = f"/v1/chatting/{sibling.chatbot_id}/thread/{sibling.pk}/message"
        refused(self.send(api, path), limit=2, window=60)
        assert Message.objects.count() == before
        other = ThreadFactory(chatbot=ChatbotFactory(account=AccountFactory(plan=plan)))
        stranger = caller(other.chatbot.account.owner)
        path = f"/v1/chatting/{other.chatbot_id}/thread/{other.pk}/message"
        assert self.send(stranger, path).status_code == 200

    @pytest.mark.proves("Limits/replies")
    def test_replies_are_counted_only_if_a_model_is_called(
        self, api: Api, chatbot: Chatbot, plan: Plan, there: str
    ) -> None:
        Plan.objects.update(messages_per_minute=3, ai_replies_per_minute=1)
        assert self.send(api, there).status_code == 200
        refused(self.send(api, there), limit=1, window=60)
        api.patch(there.replace("/message", "/escalate"))
        assert self.send(api, there).status_code == 200  # not limited, because no model is called
        assert self.send(api, there).status_code == 200  # the refused message was not counted
        refused(self.send(api, there), limit=3, window=60)

    @pytest.mark.proves("Limits/quota", "Codes/MESSAGES_LIMIT_REACHED", "HTTP statuses/429")
    def test_the_monthly_quota_applies(
        self, api: Api, chatbot: Chatbot, plan: Plan, there: str
    ) -> None:
        Plan.objects.update(monthly_messages=2)
        assert [self.send(api, there).status_code for _ in range(2)] == [200, 200]
        before = Message.objects.count()
        month, end = month_of(timezone.now())
        window = int((end - datetime(month.year, month.month, 1, tzinfo=UTC)).total_seconds())
        later = refused(
            self.send(api, there), limit=2, window=window, code="MESSAGES_LIMIT_REACHED"
        )
        assert abs(later - (end - timezone.now()).total_seconds()) <= 60
        assert Message.objects.count() == before
        assert Usage.objects.get().messages == 2

    def test_a_request_rejected_for_another_reason_uses_no_quota(
        self, api: Api, plan: Plan, there: str
    ) -> None:
        Plan.objects.update(monthly_messages=1)
        assert self.send(api, there.replace("/thread/", "/thread/0")).status_code == 404
        assert api.post(there, {"content": " "}).status_code == 400
        assert self.send(api, there).status_code == 200

    def test_a_month_ends_with_its_last_second_in_utc(self) -> None:
        last = datetime(2026, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)
        assert month_of(last) == (last.date().replace(day=1), datetime(2027, 1, 1, tzinfo=UTC))


@pytest.mark.proves("Limits/plans")
@pytest.mark.parametrize(
    ("name", "messages", "replies", "webhooks"),
    [
        ("Starter", 600, 150, False),
        ("Growth", 3_000, 750, False),
        ("Scale", 12_000, 3_000, True),
    ],
)
def test_the_plans_are_shipped_with_their_documented_limits(
    db: None, name: str, messages: int, replies: int, webhooks: bool
) -> None:
    plan = Plan.objects.get(name=name)
    assert (plan.messages_per_minute, plan.ai_replies_per_minute) == (messages, replies)
    assert (plan.monthly_messages, plan.max_chatbots) == (None, None)
    assert plan.webhooks_by_default is webhooks


@pytest.mark.proves("Events/2")
@pytest.mark.parametrize(("name", "has"), [("Starter", False), ("Growth", False), ("Scale", True)])
def test_an_account_starts_with_the_add_on_of_its_plan(db: None, name: str, has: bool) -> None:
    account = AccountFactory(plan=Plan.objects.get(name=name))
    assert account.webhooks_enabled is has
