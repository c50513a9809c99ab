"""Permissions: every operation is tested with every kind of caller."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone

from accounts.models import ApiKey
from accounts.services import api_key as keys
from chatbots.models import Chatbot
from tests.conftest import Api, caller
from tests.contract.operations import (
    ACCOUNT,
    ANYONE,
    CLOSED,
    FORBIDDEN,
    OPERATIONS,
    OUTSIDERS,
    USERS,
    Operation,
    all_rows,
    call,
    callers,
    ids_of,
    routes,
)
from tests.factories.accounts import UserFactory

NO_KEY = {
    "success": False,
    "message": "Authorization header does not contain a valid API key",
    "code": "API_KEY_NOT_VALID",
}
every_operation = pytest.mark.parametrize("operation", OPERATIONS, ids=str)


def keyless(owner: Any) -> dict[str, Api]:
    """Create callers without a valid key. The expired key and the revoked key belong to `owner`."""
    expired, expired_text = keys.issue(owner)
    ApiKey.objects.filter(pk=expired.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    revoked, revoked_text = keys.issue(owner)
    keys.revoke(revoked)
    return {
        "no key": Api(None),
        "garbage": Api("garbage"),
        "unknown": Api(keys.keys.make().text),
        "expired": Api(expired_text),
        "revoked": Api(revoked_text),
        "inactive": caller(UserFactory(is_active=False)),
    }


def refusal(operation: Operation, who: str) -> dict[str, Any]:
    """Return the error for a caller with a valid key but without permission."""
    below_account = operation.path.startswith(ACCOUNT)
    outside = who in OUTSIDERS or "{chatbot}" not in operation.path
    return FORBIDDEN if below_account and outside else CLOSED


@pytest.mark.proves("Records whose fields are left open/absent", "Versioning/paths")
def test_the_routes_are_those_of_the_specification() -> None:
    assert routes() == {(operation.method, operation.path) for operation in OPERATIONS}
    assert {path[:4] for _, path in routes()} == {"/v0/", "/v1/"}


@pytest.mark.proves(
    "Authentication/1", "Authentication/4", "HTTP statuses/401", "Codes/API_KEY_NOT_VALID"
)
@every_operation
def test_without_a_valid_key_every_operation_is_a_401(
    chatbot: Chatbot, operation: Operation
) -> None:
    ids, refused = ids_of(chatbot), keyless(chatbot.account.owner)
    before = all_rows()
    for who, each in refused.items():
        answer = call(each, operation, ids)
        assert (answer.status_code, answer.json()) == (401, NO_KEY), who
    assert all_rows() == before


@pytest.mark.proves("Authentication/5", "Authentication/6", "HTTP statuses/403")
@every_operation
def test_a_caller_without_permission_learns_and_changes_nothing(
    chatbot: Chatbot, stranger: Api, operation: Operation
) -> None:
    ids, people = ids_of(chatbot), callers(chatbot, stranger)
    before = all_rows()
    for who in ANYONE - operation.may:
        answer = call(people[who], operation, ids)
        assert (answer.status_code, answer.json()) == (403, refusal(operation, who)), who
    assert all_rows() == before


@pytest.mark.proves("Authentication/2", "Authentication/6", "HTTP statuses/200")
@every_operation
def test_a_caller_with_permission_succeeds(
    chatbot: Chatbot, stranger: Api, operation: Operation
) -> None:
    ids, people = ids_of(chatbot), callers(chatbot, stranger)
    for who in sorted(operation.may):
        with transaction.atomic():
            answer = call(people[who], operation, ids)
            transaction.set_rollback(True)  # every caller starts from the same state
        assert answer.status_code == 200, (who, answer.json())
        body = answer.json()
        assert (body["statusCode"], body["success"]) == (200, True)


@pytest.mark.parametrize("path", ["/v1/chatbots", "/v1/chatbots/my-chatbots"])
@pytest.mark.parametrize("who", sorted(ANYONE - USERS))
def test_a_callers_own_list_contains_no_foreign_chatbot(
    chatbot: Chatbot, stranger: Api, path: str, who: str
) -> None:
    answer = callers(chatbot, stranger)[who].get(path)
    assert answer.status_code == 200
    told = answer.content.decode()
    assert chatbot.name not in told
    assert str(chatbot.pk) not in told
