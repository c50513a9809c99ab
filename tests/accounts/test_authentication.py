"""Authentication by API key: the header, database queries, expiry, rotation and revocation."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts import keys
from accounts.models import ApiKey
from accounts.services import api_key
from chatbots.models import Chatbot
from tests.conftest import Api

pytestmark = pytest.mark.proves("Authentication", "Authentication/1", "Authentication/4")

HERE = "/api/v1/chatbots"
REFUSAL = {
    "success": False,
    "message": "Authorization header does not contain a valid API key",
    "code": "API_KEY_NOT_VALID",
}


def call(header: str | None, path: str = HERE) -> Any:
    """Send a request with exactly this Authorization header."""
    return Client().get(path, headers={} if header is None else {"Authorization": header})


@pytest.mark.proves("Bodies/authentication", "HTTP statuses/401")
@pytest.mark.parametrize(
    "header",
    [
        *(None, "", "Bearer", "Bearer ", "{key}", "Basic {key}", "Token {key}", "Bearer  {key}"),
        *("Bearer\t{key}", "Bearer {key} ", "Bearer {key}, Bearer {key}", "Bearer {key}x"),
        *("Bearer " + "x" * 10_000, "Bearer ключ"),
    ],
    ids=lambda header: ascii(header)[:30],
)
def test_a_header_without_a_valid_key_is_a_401(api: Api, header: str | None) -> None:
    answer = call(header.format(key=api.key) if header else header)
    assert (answer.status_code, answer.json()) == (401, REFUSAL)
    assert answer["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize("name", ["api_key", "apiKey", "key", "token", "access_token"])
def test_a_key_in_the_query_string_is_ignored(api: Api, name: str) -> None:
    assert call(None, f"{HERE}?{name}={api.key}").status_code == 401


def test_a_malformed_key_costs_no_query(api: Api, django_assert_num_queries: Any) -> None:
    made = keys.make().text
    with django_assert_num_queries(0):
        for text in ("garbage", made[:-1] + ("a" if made[-1] != "a" else "b"), made[1:]):
            assert call(f"Bearer {text}").status_code == 401
    with django_assert_num_queries(1):
        assert call(f"Bearer {made}").status_code == 401


def test_a_revoked_or_expired_key_costs_the_same_query_as_an_unknown_one(
    api: Api, chatbot: Chatbot
) -> None:
    """Each lookup runs the same single statement, so timing does not reveal former keys."""
    owner = chatbot.account.owner
    ended = {name: api_key.issue(owner) for name in ("revoked", "expired", "switched off")}
    api_key.revoke(ended["revoked"][0])
    past = timezone.now() - timedelta(seconds=1)
    ApiKey.objects.filter(pk=ended["expired"][0].pk).update(expires_at=past)
    texts = {name: text for name, (_, text) in ended.items()} | {"unknown": keys.make().text}
    owner.is_active = False
    owner.save()
    statements = {}
    for name, text in texts.items():
        with CaptureQueriesContext(connection) as made:
            assert call(f"Bearer {text}").status_code == 401, name
        statements[name] = [re.sub(r"'[^']*'", "?", each["sql"]) for each in made]
    assert len(statements["unknown"]) == 1
    assert all(each == statements["unknown"] for each in statements.values()), statements


def test_a_deactivated_user_is_locked_out_immediately(api: Api, chatbot: Chatbot) -> None:
    assert call(f"Bearer {api.key}").status_code == 200
    chatbot.account.owner.is_active = False
    chatbot.account.owner.save()
    assert call(f"Bearer {api.key}").status_code == 401


@pytest.mark.parametrize(("seconds", "status"), [(-1, 401), (0, 401), (1, 200)])
def test_a_key_expires_at_its_expiry_time(
    api: Api, monkeypatch: pytest.MonkeyPatch, seconds: int, status: int
) -> None:
    now = timezone.now()
    monkeypatch.setattr(timezone, "now", lambda: now)
    ApiKey.objects.update(expires_at=now + timedelta(seconds=seconds))
    assert call(f"Bearer {api.key}").status_code == status


def test_the_last_use_of_a_key_is_recorded_at_most_once_a_minute(
    api: Api, django_assert_num_queries: Any
) -> None:
    key = ApiKey.objects.get()
    assert key.last_used_at is None
    call(f"Bearer {api.key}")
    first = ApiKey.objects.get().last_used_at
    assert first is not None
    for seconds in (0, 45):
        used = first - timedelta(seconds=seconds)
        ApiKey.objects.update(last_used_at=used)
        call(f"Bearer {api.key}")
        assert ApiKey.objects.get().last_used_at == used
    ApiKey.objects.update(last_used_at=first - timedelta(seconds=61))
    call(f"Bearer {api.key}")
    assert ApiKey.objects.get().last_used_at >= first


@pytest.mark.proves("Authentication/2")
def test_a_key_is_not_stored(api: Api) -> None:
    [row] = ApiKey.objects.values()
    assert api.key
    assert api.key not in str(row)
    assert api.key.rsplit("_")[-1] not in str(row)


@pytest.mark.proves("Authentication/3")
class TestRotation:
    """A rotation replaces old keys with new ones."""

    def rotated(self, **options: Any) -> list[tuple[ApiKey, str]]:
        made = [api_key.replace(key, **options) for key in ApiKey.objects.replaceable()]
        return list(filter(None, made))

    def test_without_a_grace_period_the_old_key_stops_working_immediately(self, api: Api) -> None:
        ApiKey.objects.update(label="shop")
        old = ApiKey.objects.get()
        [(new, text)] = self.rotated()
        assert [call(f"Bearer {each}").status_code for each in (api.key, text)] == [401, 200]
        assert (new.user_id, new.label) == (old.user_id, "shop")

    def test_during_the_grace_period_the_old_and_the_new_key_both_work(self, api: Api) -> None:
        [(_, text)] = self.rotated(grace_hours=1)
        assert [call(f"Bearer {each}").status_code for each in (api.key, text)] == [200, 200]
        old = ApiKey.objects.get(digest=keys.digest(api.key or ""))
        left = (old.expires_at - timezone.now()).total_seconds()
        assert 3590 < left <= 3600

    def test_a_grace_period_does_not_extend_the_life_of_a_key(self, api: Api) -> None:
        end = timezone.now() + timedelta(minutes=5)
        ApiKey.objects.update(expires_at=end)
        self.rotated(grace_hours=24)
        assert set(ApiKey.objects.values_list("expires_at", flat=True)) == {end}

    def test_a_revoked_key_is_not_replaced(self, api: Api) -> None:
        api_key.revoke(ApiKey.objects.get())
        assert self.rotated() == []


def test_a_revocation_takes_effect_immediately_and_a_second_one_changes_nothing(api: Api) -> None:
    assert call(f"Bearer {api.key}").status_code == 200
    key = ApiKey.objects.get()
    api_key.revoke(key)
    ended = key.revoked_at
    assert call(f"Bearer {api.key}").status_code == 401
    api_key.revoke(key)
    assert key.revoked_at == ended
