"""Tenant isolation, tested for every kind of caller and with every kind of id in each operation.

There are five kinds of ids: ids of the account and chatbot under test (`own`), of another chatbot
of this account (`sibling`), and of another account (`foreign`), valid ids that match no row
(`missing`), and invalid ids (`malformed`). The combinations to test are derived from the paths and
bodies of OPERATIONS, which test_authentication_roles.py compares with the URLconf. `expected`
returns the response that each combination must get.
"""

import re
from typing import Any

import orjson
import pytest
from django.db import transaction

from accounts.models import Account
from chatbots.models import Chatbot, FollowUpPrompt, Instruction, Persona
from conversations.models import Message, Thread
from tests.conftest import Api
from tests.contract.operations import (
    ANYONE,
    BOT,
    CHAT,
    CLOSED,
    FORBIDDEN,
    LEADERS,
    OPERATIONS,
    OUTSIDERS,
    USERS,
    Operation,
    all_rows,
    call,
    callers,
    ids_of,
)
from tests.factories.chatbots import ChatbotFactory
from tests.factories.tenant import Tenant
from tests.house.source import ROOT

OWN, SIBLING, FOREIGN, MISSING, MALFORMED = "own", "sibling", "foreign", "missing", "malformed"
ALL, ABSENT = (OWN, SIBLING, FOREIGN, MISSING, MALFORMED), {MISSING, MALFORMED}
MARK = "zebracrossing"  # a word in most of the other account's texts
KINDS = {  # the name of each id in paths and bodies, and the model that the id refers to
    "account": Account,
    "chatbot": Chatbot,
    "follow_up_prompt": FollowUpPrompt,
    "instruction": Instruction,
    "persona": Persona,
    "thread": Thread,
    "message": Message,
}
# The names of the ids in bodies and queries, except those in SHARED. Since `instructionId` and
# `before` are optional, CALLS contains additional calls that include them.
NAMED = {"threadId", "instructionId", "before"}
SELECT = f"{BOT}/instructions/select-instruction"
OLDER = f"{CHAT}/thread/{{thread}}/messages?before={{message}}"
CALLS = [
    *OPERATIONS,
    Operation("POST", SELECT, USERS, {"instructionId": "{instruction}"}),
    Operation("GET", OLDER, USERS),
]
# Ids that belong to no account: AI models are shared, and callers choose the ids of visitors.
SHARED = {"llmModelId", "visitorId"}


def places(operation: Operation) -> list[str]:
    """List the names of the ids in an operation's path and body."""
    return re.findall(r"\{(\w+)\}", f"{operation.path} {operation.body}")


def cells(operation: Operation) -> list[dict[str, str]]:
    """List the combinations to test. Each maps the names of the operation's ids to their kinds.

    Either all ids are of the same kind, or all ids but one are `own` ids.
    """
    names = places(operation)
    alike = [dict.fromkeys(names, kind) for kind in ALL]
    own = alike[0]
    mixed = [own | {name: kind} for name in names for kind in ALL]
    unlike = {tuple(each.values()): each for each in alike + mixed}
    # Accounts have no siblings, so combinations with a `sibling` account are left out.
    return [each for each in unlike.values() if each.get("account") != SIBLING]


def missing(name: str) -> tuple[int, dict[str, Any]]:
    """Return the expected response for a row that does not exist."""
    called = "thread" if name == "thread" else KINDS[name]._meta.verbose_name
    body = {"success": False, "message": f"{called} not found"}
    return 404, body | ({"code": "CHATBOT_NOT_FOUND"} if name == "chatbot" else {})


def expected(operation: Operation, kinds: dict[str, str], who: str) -> tuple[int, Any]:
    """Return the expected status, and the expected body if the response is an error.

    The checks are applied in the documented order.

    Open points: order-of-checks, roles, permissions, foreign-chatbot, ids.
    """
    below = dict(kinds)
    if account := below.pop("account", None):
        if account in ABSENT:
            return missing("account")
        member = who not in OUTSIDERS
        entitled = member if "chatbot" in below else who in operation.may
        if account == FOREIGN or not entitled:
            return 403, FORBIDDEN
    if chatbot := below.pop("chatbot", None):
        if chatbot in ABSENT or (account and chatbot == FOREIGN):
            return missing("chatbot")
        users = {OWN: USERS, SIBLING: LEADERS, FOREIGN: set[str]()}[chatbot]
        if who not in users:
            return 403, CLOSED
    if operation.path == OLDER:
        cursor = below.pop("message")
        if cursor == MALFORMED or (cursor != chatbot and below["thread"] == chatbot):
            return 400, UNKNOWN_CURSOR
    for name, kind in below.items():  # a row of another chatbot counts as missing
        if kind != chatbot:
            return missing(name)
    return 200, None


UNKNOWN_CURSOR = {
    "success": False,
    "message": "request body is not valid",
    "code": "REQUEST_VALIDATION_FAILED",
    "errors": [{"path": ["before"], "message": "Expected the id of a message in this thread"}],
}


class World:
    """Two chatbots of one account, another account with its rows, and the callers."""

    def __init__(self, chatbot: Chatbot, stranger: Api) -> None:
        self.foreign = Tenant(MARK)
        own = ids_of(chatbot)
        self.ids = {
            OWN: own,
            SIBLING: ids_of(ChatbotFactory(account=chatbot.account)),
            FOREIGN: {name: self.foreign.keys_of(model)[0] for name, model in KINDS.items()},
            MISSING: dict.fromkeys(KINDS, "0190a000-0000-7000-8000-000000000000"),
            # Ids without hyphens: uuid.UUID accepts them, but the API does not
            MALFORMED: {name: key.replace("-", "") for name, key in own.items()},
        }
        self.callers = callers(chatbot, stranger)
        self.before = self.foreign.snapshot()
        self.hidden = [MARK, *self.ids[FOREIGN].values()]

    def ask(self, operation: Operation, kinds: dict[str, str], who: str) -> tuple[int, Any]:
        """Call an operation. Returns the response's status and, if it is an error, the body.

        Asserts that the response reveals nothing about the other account, and that a successful
        call changes nothing in it.
        """
        ids = {name: self.ids[kind][name] for name, kind in kinds.items()}
        answer = call(self.callers[who], operation, ids)
        told = answer.serialize().decode()
        assert not [text for text in self.hidden if text in told], (who, kinds)
        if answer.status_code != 200:
            return answer.status_code, answer.json()
        assert self.foreign.snapshot() == self.before, (who, kinds)
        return 200, None


@pytest.mark.proves(
    "HTTP statuses/403",
    "HTTP statuses/404",
    "Codes/CHATBOT_NOT_FOUND",
    "Codes/CHATBOT_FETCH_FORBIDDEN",
    "Follow-up prompts/5",
)
@pytest.mark.parametrize("operation", CALLS, ids=str)
def test_every_kind_of_id_gets_its_expected_response_and_reveals_and_changes_nothing(
    chatbot: Chatbot, stranger: Api, operation: Operation
) -> None:
    world = World(chatbot, stranger)
    before = all_rows()
    for kinds in cells(operation):
        for who in sorted(ANYONE):
            awaited = expected(operation, kinds, who)
            with transaction.atomic():
                told = world.ask(operation, kinds, who)
                transaction.set_rollback(told[0] == awaited[0] == 200)  # undo a permitted change
            assert told == awaited, (who, kinds)
    assert all_rows() == before


def test_every_id_in_a_body_or_query_is_covered() -> None:
    document = orjson.loads((ROOT / "openapi.json").read_bytes())
    taken: set[str] = set()
    for operation in (each for path in document["paths"].values() for each in path.values()):
        queried = [one for one in operation.get("parameters", []) if one.get("in") == "query"]
        taken |= {one["name"] for one in queried}
        for body in operation.get("requestBody", {}).get("content", {}).values():
            shape = document["components"]["schemas"][body["schema"]["$ref"].rsplit("/")[-1]]
            taken |= set(shape.get("properties", {}))
    assert {name for name in taken if name.endswith("Id") or name == "before"} == NAMED | SHARED
