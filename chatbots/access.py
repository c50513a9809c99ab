"""Find the chatbots that a caller may use. Open points: roles, foreign-chatbot."""

from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import Exists, OuterRef, QuerySet, Subquery, UUIDField
from django.db.models.functions import Coalesce

from accounts.access import reached
from accounts.authentication import working_key
from accounts.caller import Caller
from accounts.models import ApiKey
from chatbots.models import Chatbot
from chatbots.models.chatbot import ChatbotQuerySet
from config.api.errors import ApiError, Forbidden
from config.database.prepared import prepare


class ChatbotNotFound(ApiError):
    """The chatbot does not exist."""

    status_code, code, message = 404, "CHATBOT_NOT_FOUND", "chatbot not found"


class ChatbotForbidden(ApiError):
    """The caller is not allowed to use the chatbot."""

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


def key_and_chatbot(*, chatbot: UUID, **key: Any) -> "QuerySet[ApiKey, tuple[Any, ...]]":
    """Select a key, whether it gives access to a chatbot, and the columns of an OpenChatbot.

    If the chatbot does not exist, its columns are None.
    """
    rows = Chatbot.objects.filter(pk=chatbot).order_by()
    # This selects no rows if the key is bound to another account.
    within = rows.filter(account=Coalesce(OuterRef("account"), "account"))
    return working_key(
        Exists(within.ids_open_to(OuterRef("user"))),
        Subquery(rows.values("pk")),
        Subquery(rows.values("account"), output_field=UUIDField()),
        Subquery(rows.values("is_active")),
        **key,
    )


KEY_AND_CHATBOT = prepare(key_and_chatbot)


def lock_chatbot(chatbot_id: UUID) -> None:
    """Lock a chatbot until the caller's transaction ends.

    Take this lock before writing a row that must be unique within its chatbot. This ensures that
    only one transaction at a time creates or deletes such rows, and that all transactions take
    their locks in the same order.
    """
    Chatbot.objects.lock(chatbot_id)


def open_to(caller: Caller) -> ChatbotQuerySet:
    """Return the chatbots that a caller may use with the request's key."""
    return reached(Chatbot.objects.open_to(caller.pk), caller)
