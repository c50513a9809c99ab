"""Find the chatbots that a caller may use. Open points: roles, foreign-chatbot."""

from typing import Any
from uuid import UUID

from django.db.models import Exists

from accounts.access import reached
from accounts.models import Account, User
from chatbots.models import Chatbot
from chatbots.models.chatbot import ChatbotQuerySet
from config.api.errors import ApiError
from config.api.viewsets import identifier
from config.runtime import logs


class ChatbotNotFound(ApiError):
    """The chatbot does not exist."""

    status_code, code, message = 404, "CHATBOT_NOT_FOUND", "chatbot not found"


class ChatbotForbidden(ApiError):
    """The caller may not use the chatbot."""

    status_code, code = 403, "CHATBOT_FETCH_FORBIDDEN"
    message = "no permission to access the chatbot"


def open_chatbot(caller: User, chatbot_id: str, *, account: Account | None = None) -> Chatbot:
    """Find a chatbot and check that the caller may use it, in one query.

    Raises ChatbotNotFound, also if the chatbot is not in the given account, or ChatbotForbidden.
    """
    try:
        key = identifier(chatbot_id)
    except ApiError:
        raise ChatbotNotFound from None
    rows = Chatbot.objects.filter(pk=key)
    if account:
        rows = rows.filter(account=account)
    # Any: with the annotation
    chatbot: Any = rows.annotate(is_open=Exists(rows.ids_open_to(caller.pk))).first()
    if chatbot is None:
        raise ChatbotNotFound
    logs.note(account=str(chatbot.account_id))
    if not (chatbot.is_open and caller.reaches(chatbot.account_id)):
        raise ChatbotForbidden
    found: Chatbot = chatbot
    return found


def lock_chatbot(chatbot_id: UUID) -> None:
    """Lock a chatbot until the caller's transaction ends.

    Take this lock first to write anything that a chatbot has only one of. No transaction then sees
    a row half created or half deleted, and all of them take their locks in the same order.
    """
    Chatbot.objects.lock(chatbot_id)


def open_to(caller: User) -> ChatbotQuerySet:
    """Return the chatbots that a caller may use with the key of this request."""
    found = Chatbot.objects.filter(pk__in=Chatbot.objects.ids_open_to(caller.pk))
    return reached(found, caller)
