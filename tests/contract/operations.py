"""Every operation of the specification, with its permitted callers and a valid body."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from django.apps import apps
from django.urls import URLResolver, get_resolver

from accounts.models import ApiKey
from accounts.permissions import CHATBOT_VIEW, Role
from chatbots.models import Chatbot
from tests.conftest import Api, caller
from tests.factories.accounts import MembershipFactory
from tests.factories.chatbots import (
    ChatbotMemberFactory,
    FollowUpPromptFactory,
    InstructionFactory,
    LeadSettingsFactory,
    PersonaFactory,
)
from tests.factories.conversations import MessageFactory, ThreadFactory
from tests.house.source import APPS

ACCOUNT = "/v1/chatbots/account/{account}"
BOT, BOT_V0 = "/v1/chatbots/chatbot/{chatbot}", "/v0/chatbots/chatbot/{chatbot}"
CHAT = "/v1/chatting/{chatbot}"

LEADERS = {"owner", "super_admin"}
USERS = LEADERS | {"added"}
OUTSIDERS = {"stranger", "former"}
ANYONE = USERS | OUTSIDERS | {"bystander", "viewer"}

FORBIDDEN = {"success": False, "message": "insufficient permissions"}
CLOSED = {
    "success": False,
    "message": "no permission to access the chatbot",
    "code": "CHATBOT_FETCH_FORBIDDEN",
}


class Operation(NamedTuple):
    """One HTTP method on one path. `may` is the set of permitted callers, named as in `callers`."""

    method: str
    path: str
    may: set[str]
    body: Any = None

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


OPERATIONS = [
    Operation("GET", "/v1/chatbots", ANYONE),
    Operation("GET", "/v1/chatbots/my-chatbots", ANYONE),
    Operation("POST", f"{ACCOUNT}/create-chatbot", LEADERS, {"name": "new", "description": "new"}),
    Operation("PATCH", f"{ACCOUNT}/chatbot/{{chatbot}}", USERS, {"name": "renamed"}),
    Operation("GET", f"{ACCOUNT}/all-chatbots", LEADERS | {"viewer"}),
    Operation("GET", f"{BOT}/appearance", USERS),
    Operation("PUT", f"{BOT}/appearance", USERS, {"tooltip": "new"}),
    Operation("GET", f"{BOT}/localization", USERS),
    Operation(
        "PATCH",
        f"{BOT}/follow-up-prompts/{{follow_up_prompt}}",
        USERS,
        {"linkText": "a", "linkSrc": "b"},
    ),
    Operation("POST", f"{BOT}/instructions", USERS, {"title": "new", "instruction": "new"}),
    Operation("PATCH", f"{BOT}/instructions/{{instruction}}", USERS, {"isActive": True}),
    Operation(
        "POST",
        f"{BOT}/instructions/select-instruction",
        USERS,
        {"title": "new", "instruction": "new"},
    ),
    Operation("PATCH", f"{BOT}/personas/{{persona}}", USERS, {"title": "new"}),
    Operation("POST", f"{BOT}/lead-settings", USERS, {"industryTemplate": "new"}),
    Operation("GET", f"{BOT}/lead-settings", USERS),
    Operation("DELETE", f"{BOT}/lead-settings", USERS),
    Operation("POST", f"{BOT}/conversation-starters", USERS, {"text": "new"}),
    Operation("PUT", f"{BOT}/settings", USERS, {"description": "new"}),
    Operation("PATCH", f"{BOT_V0}/settings/general", USERS, {"description": "new"}),
    Operation("PATCH", f"{BOT_V0}/settings/user-data", USERS, {"customerNameTake": True}),
    Operation("GET", f"{CHAT}/threads", USERS),
    Operation("POST", f"{CHAT}/threads", USERS, {"title": "new"}),
    Operation(
        "PATCH", f"{CHAT}/thread/update-thread", USERS, {"threadId": "{thread}", "tags": ["new"]}
    ),
    Operation("GET", f"{CHAT}/thread/{{thread}}", USERS),
    Operation("PATCH", f"{CHAT}/thread/{{thread}}/escalate", USERS),
    Operation("POST", f"{CHAT}/thread/{{thread}}/escalate", USERS),
    Operation("GET", f"{CHAT}/thread/{{thread}}/messages", USERS),
    Operation("POST", f"{CHAT}/thread/{{thread}}/message", USERS, {"content": "new"}),
    Operation("PATCH", f"{CHAT}/message/{{message}}", USERS, {"reaction": "POSITIVE"}),
]


def below(patterns: list[Any], prefix: str = "/") -> Iterator[tuple[str, Any]]:
    """Yield the path and view of every route."""
    for pattern in patterns:
        path = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from below(pattern.url_patterns, path)
        else:
            yield path, pattern.callback


def routes() -> set[tuple[str, str]]:
    """Return the method and path of every route below /api, in the notation of OPERATIONS."""
    return {
        (method.upper(), path.removeprefix("/api").replace("<str:", "{").replace("_id>", "}"))
        for path, view in below(get_resolver().url_patterns)
        if path.startswith("/api/")
        for method in view.actions
        if method != "head"  # DRF adds HEAD to each route with a GET
    }


def ids_of(chatbot: Chatbot) -> dict[str, str]:
    """Create one row of each kind for a chatbot. Returns the ids, keyed by their names in paths."""
    thread = ThreadFactory(chatbot=chatbot)
    LeadSettingsFactory(chatbot=chatbot)
    rows: dict[str, Any] = {
        "account": chatbot.account,
        "chatbot": chatbot,
        "follow_up_prompt": FollowUpPromptFactory(chatbot=chatbot),
        "instruction": InstructionFactory(chatbot=chatbot),
        "persona": PersonaFactory(chatbot=chatbot),
        "thread": thread,
        "message": MessageFactory(thread=thread),
    }
    return {name: str(row.pk) for name, row in rows.items()}


def filled(value: Any, ids: dict[str, str]) -> Any:
    """Replace placeholders such as "{thread}" in a value of a request body with ids."""
    return value.format(**ids) if isinstance(value, str) else value


def call(who: Api, operation: Operation, ids: dict[str, str]) -> Any:
    """Call an operation with its valid body."""
    body = operation.body and {name: filled(each, ids) for name, each in operation.body.items()}
    return who.call(operation.method, operation.path.format(**ids), body)


def member(chatbot: Chatbot, *, added: bool = False, **fields: Any) -> Api:
    """Create a member of the chatbot's account. Returns an API client with the member's key."""
    membership = MembershipFactory(account=chatbot.account, **fields)
    if added:
        ChatbotMemberFactory(chatbot=chatbot, user=membership.user)
    return caller(membership.user)


def callers(chatbot: Chatbot, stranger: Api) -> dict[str, Api]:
    """Create a caller for every relation that a user can have to a chatbot."""
    return {
        "owner": caller(chatbot.account.owner),
        "super_admin": member(chatbot, role=Role.SUPER_ADMIN),
        "added": member(chatbot, added=True),
        "bystander": member(chatbot),
        "viewer": member(chatbot, permissions=[CHATBOT_VIEW]),
        "stranger": stranger,
        "former": caller(ChatbotMemberFactory(chatbot=chatbot).user),  # a former account member
    }


def all_rows() -> dict[str, list[Any]]:
    """Return all rows of the models in APPS, with `last_used_at` cleared in API keys."""
    return {
        model.__name__: [
            row | ({"last_used_at": None} if model is ApiKey else {})
            for row in model._base_manager.order_by("pk").values()
        ]
        for model in apps.get_models()
        if model._meta.app_label in APPS
    }
