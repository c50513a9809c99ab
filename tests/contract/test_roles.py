"""Who may do what: every operation with every kind of caller."""

from datetime import timedelta
from typing import Any

import pytest
from django.apps import apps
from django.db import transaction
from django.utils import timezone

from accounts.models import ApiKey
from accounts.services import api_key as keys
from chatbots.models import Chatbot
from tests.conftest import Api, caller
from tests.contract.operations import (
    ACCOUNT,
    ANYONE,
    OPERATIONS,
    Operation,
    call,
    callers,
    ids_of,
    routes,
)
from tests.factories.accounts import UserFactory
from tests.factories.chatbots import ChatbotFactory
from tests.house.source import APPS

FORBIDDEN = {"success": False, "message": "insufficient permissions"}
CLOSED = {
    "success": False,
    "message": "no permission to access the chatbot",
    "code": "CHATBOT_FETCH_FORBIDDEN",
}
NO_KEY = {
    "success": False,
    "message": "Authorization header does not contain a valid API key",
    "code": "API_KEY_NOT_VALID",
}
every_operation = pytest.mark.parametrize("operation", OPERATIONS, ids=str)


def stored() -> dict[str, list[Any]]:
    """Read every row of the project's own tables; only when a key was used does not count."""
    return {
        model.__name__: [
            row | ({"last_used_at": None} if model is ApiKey else {})
            for row in model._base_manager.order_by("pk").values()
        ]
        for model in apps.get_models()
        if model._meta.app_label in APPS
    }


def keyless(owner: Any) -> dict[str, Api]:
    """Make callers whose key does not open anything, the owner's own ended keys among them."""
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
    """Say what a caller with a good key is told who may not."""
    below_account = operation.path.startswith(ACCOUNT)
    outside = who == "stranger" or "{chatbot}" not in operation.path
    return FORBIDDEN if below_account and outside else CLOSED


@pytest.mark.proves("Records whose fields are left open/absent", "Versioning/paths")
def test_the_routes_are_those_of_the_specification() -> None:
    assert routes() == {(operation.method, operation.path) for operation in OPERATIONS}
    assert {path[:4] for _, path in routes()} == {"/v0/", "/v1/"}


@pytest.mark.proves(
    "Authentication/1", "Authentication/4", "HTTP statuses/401", "Codes/API_KEY_NOT_VALID"
)
@every_operation
def test_without_a_working_key_nothing_opens(chatbot: Chatbot, operation: Operation) -> None:
    ids, refused = ids_of(chatbot), keyless(chatbot.account.owner)
    before = stored()
    for who, each in refused.items():
        answer = call(each, operation, ids)
        assert (answer.status_code, answer.json()) == (401, NO_KEY), who
    assert stored() == before


@pytest.mark.proves("Authentication/5", "Authentication/6", "HTTP statuses/403")
@every_operation
def test_who_may_not_learns_and_changes_nothing(
    chatbot: Chatbot, stranger: Api, operation: Operation
) -> None:
    ids, people = ids_of(chatbot), callers(chatbot, stranger)
    before = stored()
    for who in ANYONE - operation.may:
        answer = call(people[who], operation, ids)
        assert (answer.status_code, answer.json()) == (403, refusal(operation, who)), who
    assert stored() == before


@pytest.mark.proves("Authentication/2", "Authentication/6", "HTTP statuses/200")
@every_operation
def test_who_may_is_let_in(chatbot: Chatbot, stranger: Api, operation: Operation) -> None:
    ids, people = ids_of(chatbot), callers(chatbot, stranger)
    for who in sorted(operation.may):
        with transaction.atomic():
            answer = call(people[who], operation, ids)
            transaction.set_rollback(True)  # the next caller finds what this one found
        assert answer.status_code == 200, (who, answer.json())
        body = answer.json()
        assert (body["statusCode"], body["success"]) == (200, True)


@pytest.mark.parametrize("path", ["/v1/chatbots", "/v1/chatbots/my-chatbots"])
@pytest.mark.parametrize("who", ["stranger", "bystander", "viewer"])
def test_a_list_of_ones_own_has_no_chatbot_of_others(
    chatbot: Chatbot, stranger: Api, path: str, who: str
) -> None:
    answer = callers(chatbot, stranger)[who].get(path)
    assert answer.status_code == 200
    told = answer.content.decode()
    assert chatbot.name not in told
    assert str(chatbot.pk) not in told


@pytest.mark.proves("HTTP statuses/404", "Follow-up prompts/5")
@pytest.mark.parametrize(
    "operation",
    [each for each in OPERATIONS if each.path.count("{") > 1 or "threadId" in (each.body or ())],
    ids=str,
)
def test_what_belongs_to_another_chatbot_is_as_missing_as_what_never_was(
    chatbot: Chatbot, operation: Operation
) -> None:
    """Both chatbots are the caller's own: the path's decides."""
    who, ids = caller(chatbot.account.owner), ids_of(chatbot)
    other = ids_of(ChatbotFactory(account=chatbot.account))
    unknown = dict.fromkeys(ids, "0190a000-0000-7000-8000-000000000000")
    own = {name: ids[name] for name in ("account", "chatbot")}
    if operation.path.startswith(ACCOUNT):  # there the chatbot is what lies below
        own, other = {"account": ids["account"]}, {"chatbot": str(ChatbotFactory().pk)}
    before = stored()
    answers = [call(who, operation, each | own) for each in (other, unknown)]
    assert [answer.status_code for answer in answers] == [404, 404]
    assert answers[0].content == answers[1].content
    assert stored() == before
