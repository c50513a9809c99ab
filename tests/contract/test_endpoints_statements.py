"""The number of SQL statements that each operation runs, on PostgreSQL and on SQLite."""

from typing import Any, NamedTuple

import pytest
from django.apps import apps
from django.contrib.contenttypes.models import ContentType
from django.db import connection
from django.utils import timezone

from accounts.models import Usage
from accounts.quotas import month_of
from chatbots.models import Chatbot, Version
from tests.conftest import Api
from tests.contract.operations import (
    ACCOUNT,
    BOT,
    BOT_V0,
    CHAT,
    OPERATIONS,
    Operation,
    call,
    ids_of,
)
from tests.statements import counted


class Cost(NamedTuple):
    """The number of SQL statements on each database. Transaction control is not counted."""

    postgresql: int
    sqlite: int


# In these tests, the caller owns the account, and the chatbot has no webhook. The key's use was
# recorded less than a minute ago, the month's usage row exists, and the chatbot's texts have been
# used in replies. The numbers are exact, so lower them when the code needs fewer statements.
STATEMENTS = {
    ("GET", "/v1/chatbots"): Cost(3, 3),
    ("GET", "/v1/chatbots/my-chatbots"): Cost(3, 3),
    ("POST", f"{ACCOUNT}/create-chatbot"): Cost(8, 8),
    ("PATCH", f"{ACCOUNT}/chatbot/{{chatbot}}"): Cost(4, 4),
    ("GET", f"{ACCOUNT}/all-chatbots"): Cost(3, 3),
    ("GET", f"{BOT}/appearance"): Cost(2, 2),
    ("PUT", f"{BOT}/appearance"): Cost(5, 5),
    ("GET", f"{BOT}/localization"): Cost(2, 2),
    ("PATCH", f"{BOT}/follow-up-prompts/{{follow_up_prompt}}"): Cost(4, 4),
    ("POST", f"{BOT}/instructions"): Cost(7, 7),
    ("PATCH", f"{BOT}/instructions/{{instruction}}"): Cost(6, 6),
    ("POST", f"{BOT}/instructions/select-instruction"): Cost(10, 10),
    ("PATCH", f"{BOT}/personas/{{persona}}"): Cost(5, 5),
    ("POST", f"{BOT}/lead-settings"): Cost(5, 5),
    ("GET", f"{BOT}/lead-settings"): Cost(2, 2),
    ("DELETE", f"{BOT}/lead-settings"): Cost(6, 6),
    ("POST", f"{BOT}/conversation-starters"): Cost(6, 6),
    ("PUT", f"{BOT}/settings"): Cost(7, 7),
    ("PATCH", f"{BOT_V0}/settings/general"): Cost(7, 7),
    ("PATCH", f"{BOT_V0}/settings/user-data"): Cost(4, 4),
    ("GET", f"{CHAT}/threads"): Cost(3, 3),
    ("POST", f"{CHAT}/threads"): Cost(6, 6),
    ("PATCH", f"{CHAT}/thread/update-thread"): Cost(4, 4),
    ("GET", f"{CHAT}/thread/{{thread}}"): Cost(2, 2),
    ("PATCH", f"{CHAT}/thread/{{thread}}/escalate"): Cost(11, 11),
    ("POST", f"{CHAT}/thread/{{thread}}/escalate"): Cost(11, 11),
    ("GET", f"{CHAT}/thread/{{thread}}/messages"): Cost(3, 3),
    ("POST", f"{CHAT}/thread/{{thread}}/message"): Cost(10, 12),
    ("PATCH", f"{CHAT}/message/{{message}}"): Cost(6, 6),
}


@pytest.mark.parametrize("operation", OPERATIONS, ids=str)
def test_an_operation_runs_exactly_the_expected_number_of_statements(
    api: Api, chatbot: Chatbot, operation: Operation
) -> None:
    ids = ids_of(chatbot)
    Usage.objects.create(account=chatbot.account, month=month_of(timezone.now())[0])
    ContentType.objects.get_for_models(*apps.get_models())  # fills Django's cache of content types
    assert connection.features.supports_json_field  # fills Django's cache
    Version.objects.update(used=True)
    api.get("/v1/chatbots")  # records the key's use
    with counted() as statements:
        answer: Any = call(api, operation, ids)
    assert answer.status_code == 200, answer.content
    expected = getattr(STATEMENTS[operation.method, operation.path], connection.vendor)
    assert len(statements) == expected, "\n".join(statements)
