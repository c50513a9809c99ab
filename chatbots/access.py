"""Find the chatbots that a caller may use. Open points: roles, foreign-chatbot."""

from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import Exists, QuerySet, UUIDField

from accounts.access import reached
from accounts.caller import Caller
from chatbots.models import Chatbot
from chatbots.models.chatbot import ChatbotQuerySet
from config.api.errors import ApiError
from config.api.viewsets import identifier
from config.database.prepared import Given, prepared
from config.runtime import logs

PERSON: Any = Given("person", UUIDField())  # Any: stands for a uuid


KEY_ACCOUNT: Any = Given("key_account", UUIDField())


def given_chatbot() -> "QuerySet[Any, tuple[UUID, UUID, bool, bool]]":
    """Read a given chatbot's fields of OpenChatbot, and whether a given person may use it."""
    rows = Chatbot.objects.filter(pk=Given("chatbot", UUIDField()))
    is_open = Exists(rows.ids_open_to(PERSON))
    return rows.values_list("pk", "account", "is_active", is_open)


CHATBOT = prepared(given_chatbot)


class ChatbotNotFound(ApiError):
    """The chatbot does not exist."""

    status_code, code, message = 404, "CHATBOT_NOT_FOUND", "chatbot not found"


class ChatbotForbidden(ApiError):
    """The caller may not use the chatbot."""

    status_code, code = 403, "CHATBOT_FETCH_FORBIDDEN"
    message = "no permission to access the chatbot"


class OpenChatbot(NamedTuple):
    """A chatbot that the caller may use."""

    pk: UUID
    account_id: UUID
    is_active: bool


def open_chatbot(caller: Caller, chatbot_id: str, *, account_id: UUID | None = None) -> OpenChatbot:
    """Find a chatbot and check that the caller may use it, in one query.

    Raises ChatbotNotFound, also if the chatbot is not in the given account, or ChatbotForbidden.
    """
    try:
        key = identifier(chatbot_id)
    except ApiError:
        raise ChatbotNotFound from None
    found = CHATBOT.first(chatbot=key, person=caller.pk)
    if found is None or account_id not in (None, found[1]):
        raise ChatbotNotFound
    opened, is_open = OpenChatbot(*found[:3]), found[3]
    logs.note(account=str(opened.account_id))
    if not (is_open and caller.reaches(opened.account_id)):
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
    found = Chatbot.objects.filter(pk__in=Chatbot.objects.ids_open_to(caller.pk))
    return reached(found, caller)


def open_to_person() -> ChatbotQuerySet:
    """Return the chatbots that a given person may use."""
    return open_to(Caller(PERSON))


def open_to_bound_key() -> ChatbotQuerySet:
    """Return the chatbots of a given account that a given person may use with a key bound to it."""
    return open_to(Caller(PERSON, KEY_ACCOUNT))


def chatbots_of_account() -> ChatbotQuerySet:
    """Return the chatbots of a given account, with no check of the caller."""
    return Chatbot.objects.filter(account=Given("account", UUIDField()))
