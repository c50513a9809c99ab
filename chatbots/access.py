"""Find the chatbots that a caller may use. Open points: roles, foreign-chatbot."""

from collections.abc import Sequence
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import Exists, OuterRef, QuerySet, Subquery, UUIDField
from django.db.models.functions import Coalesce
from django.http import HttpRequest

from accounts.access import reached
from accounts.authentication import BearerAuthentication, read_key
from accounts.caller import Caller
from accounts.models import ApiKey
from chatbots.models import Chatbot
from chatbots.models.chatbot import ChatbotQuerySet
from config.api.errors import ApiError, Forbidden
from config.api.fields import Identifier
from config.database.prepared import Given, prepared
from config.runtime.context import current

PERSON: Any = Given("person", UUIDField())  # Any: stands for a uuid
KEY_ACCOUNT: Any = Given("key_account", UUIDField())


def key_and_chatbot() -> "QuerySet[ApiKey, tuple[Any, ...]]":
    """Read a key, with a given chatbot's fields of OpenChatbot and whether the key opens it.

    One statement costs less than two. The fields are None if there is no such chatbot.
    """
    rows = Chatbot.objects.filter(pk=Given("chatbot", UUIDField())).order_by()
    within = rows.filter(account=Coalesce(OuterRef("account"), "account"))  # that the key reaches
    is_open = Exists(within.ids_open_to(OuterRef("user")))
    return read_key(
        Subquery(rows.values("pk")),
        Subquery(rows.values("account"), output_field=UUIDField()),
        Subquery(rows.values("is_active")),
        is_open,
    )


KEY_AND_CHATBOT = prepared(key_and_chatbot)


class ChatbotNotFound(ApiError):
    """The chatbot does not exist."""

    status_code, code, message = 404, "CHATBOT_NOT_FOUND", "chatbot not found"


class ChatbotForbidden(ApiError):
    """The caller may not use the chatbot."""

    status_code, code = 403, "CHATBOT_FETCH_FORBIDDEN"
    message = "no permission to access the chatbot"


class ChatbotInactive(Forbidden):
    """The chatbot is switched off. Open point: chatbot-active."""

    message = "chatbot is not active"


class OpenChatbot(NamedTuple):
    """A chatbot that the caller may use."""

    pk: UUID
    account_id: UUID
    is_active: bool


def authenticate(request: HttpRequest, chatbot_id: str) -> tuple[Caller, list[Any]]:
    """Return the caller, and what `open_chatbot` needs to know. Raises InvalidKey."""
    authentication = BearerAuthentication()
    if not Identifier.FORM.fullmatch(chatbot_id):  # it counts as unknown
        return authentication.authenticate(request)
    return authentication.authenticate(request, KEY_AND_CHATBOT, chatbot=UUID(chatbot_id))


def open_chatbot(found: Sequence[Any], *, account_id: str | None = None) -> OpenChatbot:
    """Return the chatbot that was read with the caller's key if the key opens it.

    Raises ChatbotNotFound, also if the chatbot is not in the given account, or ChatbotForbidden.
    """
    if not found or found[0] is None:
        raise ChatbotNotFound
    opened = OpenChatbot(*found[:3])
    if account_id is not None and account_id.lower() != str(opened.account_id):
        raise ChatbotNotFound
    current.set(current.get()._replace(account=str(opened.account_id)))
    if not found[3]:
        raise ChatbotForbidden
    return opened


def lock_chatbot(chatbot_id: UUID) -> None:
    """Lock a chatbot until the caller's transaction ends.

    Take this lock before writing anything of which a chatbot has only one. No transaction then sees
    a row half created or half deleted, and all of them take their locks in the same order.
    """
    Chatbot.objects.lock(chatbot_id)


def open_to(caller: Caller) -> ChatbotQuerySet:
    """Return the chatbots that a caller may use with the key of this request."""
    return reached(Chatbot.objects.open_to(caller.pk), caller)


def open_to_person() -> ChatbotQuerySet:
    """Return the chatbots that a given person may use."""
    return open_to(Caller(PERSON))


def open_to_bound_key() -> ChatbotQuerySet:
    """Return the chatbots of a given account that a given person may use with a key bound to it."""
    return open_to(Caller(PERSON, KEY_ACCOUNT))


def chatbots_of_account() -> ChatbotQuerySet:
    """Return the chatbots of a given account, with no check of the caller."""
    return Chatbot.objects.filter(account=Given("account", UUIDField()))
