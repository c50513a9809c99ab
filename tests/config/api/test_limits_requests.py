"""One round trip counts a request by address and by user, with the same result as two trips."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings
from django.core.handlers.wsgi import WSGIRequest
from django.test import RequestFactory
from django.utils import timezone

from accounts import keys
from accounts.models import ApiKey
from chatbots.models import Chatbot
from config.api import limits
from config.api.errors import TooManyRequests
from config.api.limits import Call, SharedCounters, count_address, count_user
from tests.conftest import Api, caller

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.proves("Limits/address", "Limits/user"),
    pytest.mark.skipif(not settings.REDIS_URL, reason="counters in memory need no round trip"),
]
PATH, USERS = "/v1/chatbots", 4  # USERS: the maximum number of calls per user


@pytest.fixture(autouse=True)
def limited(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time", lambda: 1_800_000_000.0)  # no window ends during the test
    settings.RATE_LIMIT_IP, settings.RATE_LIMIT_USER = (1_000_000, 60), (USERS, 60)


@pytest.fixture
def trips(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Record how many counters are changed in each round trip to Redis."""
    recorded: list[int] = []
    add_each = SharedCounters.add_each

    def record(self: SharedCounters, amounts: Any) -> Any:
        recorded.append(len(amounts))
        return add_each(self, amounts)

    monkeypatch.setattr(SharedCounters, "add_each", record)
    yield recorded


def with_key(key: str, call: Call | None = None) -> WSGIRequest:
    """Return a request with a key, in the form that the middleware passes to the rate limits."""
    request = RequestFactory().get("/", headers={"authorization": f"Bearer {key}"})
    request.META[limits.CALL] = call or Call()
    return request


def test_a_known_key_takes_one_round_trip_per_request(api: Api, trips: list[int]) -> None:
    assert [api.get(PATH).status_code for _ in range(3)] == [200] * 3
    assert trips == [1, 1, 2, 2]


def test_both_limits_refuse_as_if_they_were_counted_separately(api: Api, settings: Any) -> None:
    answers = [api.get(PATH) for _ in range(USERS + 2)]
    assert [answer.status_code for answer in answers] == [200] * USERS + [429] * 2
    assert answers[-1].json()["limit"] == USERS
    settings.RATE_LIMIT_IP = (0, 60)
    assert api.get(PATH).json()["limit"] == 0, "the address is checked first"


def used(chatbot: Chatbot) -> int:
    """Return how many calls have been counted for the chatbot's owner.

    To read the number, this counts one more call and then undoes that count.
    """
    [counted] = limits.increment(("user", str(chatbot.account.owner_id), settings.RATE_LIMIT_USER))
    assert counted
    limits.give_back(counted)
    return counted.calls - 1


def test_a_call_that_the_address_limit_refuses_does_not_count_toward_the_user_limit(
    api: Api, chatbot: Chatbot, settings: Any
) -> None:
    api.get(PATH)
    settings.RATE_LIMIT_IP = (0, 60)
    assert [api.get(PATH).status_code for _ in range(3)] == [429] * 3
    assert used(chatbot) == 1


def test_a_key_that_no_longer_works_does_not_count_toward_the_user_limit(
    api: Api, chatbot: Chatbot, trips: list[int]
) -> None:
    other = caller(chatbot.account.owner)
    assert (api.get(PATH).status_code, other.get(PATH).status_code) == (200, 200)
    ApiKey.objects.filter(digest=keys.digest(api.key)).update(revoked_at=timezone.now())
    trips.clear()
    assert [api.get(PATH).status_code for _ in range(3)] == [401] * 3
    assert trips == [2, 1, 1, 1], "the key is forgotten"
    assert used(chatbot) == 2


def test_an_unknown_path_does_not_count_toward_the_user_limit(
    api: Api, chatbot: Chatbot, trips: list[int]
) -> None:
    assert [api.get(path).status_code for path in (PATH, "/v1/nothing", PATH)] == [200, 404, 200]
    assert trips == [1, 1, 2, 1, 2], "the key is not forgotten"
    assert used(chatbot) == 2


def test_a_refused_call_that_starts_again_is_refused_again(chatbot: Chatbot, settings: Any) -> None:
    settings.RATE_LIMIT_IP, call = (0, 60), Call()
    for _ in range(2):
        request = with_key("x", call)
        limits.remember(request, str(chatbot.account.owner_id))
        with pytest.raises(TooManyRequests):
            count_address(request, "192.0.2.3")
    limits.settle(request)
    assert used(chatbot) == 0


def test_a_key_that_now_belongs_to_another_user_counts_toward_that_users_limit(
    api: Api, chatbot: Chatbot
) -> None:
    request = with_key("x")
    limits.remember(request, str(chatbot.account.owner_id))
    count_address(request, "192.0.2.1")
    count_user(request, "another")
    assert used(chatbot) == 0
    [counted] = limits.increment(("user", "another", settings.RATE_LIMIT_USER))
    assert counted
    assert counted.calls == 2


def test_a_request_that_starts_again_is_counted_once(chatbot: Chatbot) -> None:
    owner, call = chatbot.account.owner_id, Call()
    for _ in range(2):
        request = with_key("x", call)
        limits.remember(request, str(owner))
        count_address(request, "192.0.2.2")
        count_user(request, owner)
    assert used(chatbot) == 1


def test_remembered_keys_are_bounded_and_not_kept_as_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits, "MOST_USERS", 3)
    monkeypatch.setattr(limits, "users", {})
    for number in range(10):
        request = with_key(f"secret-{number}")
        limits.remember(request, "someone")
        assert len(limits.users) <= 3
    assert "secret" not in str(limits.users)


def test_every_call_passes_while_the_cache_is_down(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.get(PATH)
    monkeypatch.setattr(limits.outage, "under_way", True)
    assert {api.get(PATH).status_code for _ in range(2 * USERS)} == {200}
