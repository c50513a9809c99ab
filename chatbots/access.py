"""Find the chatbots that a caller may use. Open points: roles, foreign-chatbot."""

from typing import Any, NamedTuple
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS
from django.db.models import Exists, OuterRef, QuerySet, Subquery, UUIDField
from django.db.models.functions import Coalesce

from accounts.access import reached
from accounts.authentication import read_key
from accounts.caller import Caller
from accounts.models import ApiKey
from chatbots.models import Chatbot
from chatbots.models.chatbot import ChatbotQuerySet
from config.api.errors import ApiError, Forbidden
from config.database.prepared import Given, prepared

PERSON: Any = Given("person", UUIDField())  # Any: mypy would not accept a Given as a UUID
KEY_ACCOUNT: Any = Given("key_account", UUIDField())


def key_and_chatbot(*names: str) -> "QuerySet[ApiKey, tuple[Any, ...]]":
    """Select a key, whether it gives access to a chatbot, and the chatbot's fields in `names`.

    Running one statement is faster than running two. If the chatbot does not exist, its fields are
    None.
    """
    rows = Chatbot.objects.filter(pk=Given("chatbot", UUIDField())).order_by()
    # This selects no rows if the key is bound to another account.
    within = rows.filter(account=Coalesce(OuterRef("account"), "account"))
    is_open = Exists(within.ids_open_to(OuterRef("user")))
    values = [Subquery(rows.values(name), output_field=converter(name)) for name in names]
    return read_key(is_open, *values)


def converter(name: str) -> Any:  # Any: a model's field
    """Return the field that converts a column's values (for a foreign key, its target field)."""
    field: Any = Chatbot._meta.get_field(name)
    return field.target_field if field.is_relation else field


KEY_AND_CHATBOT = prepared(key_and_chatbot)


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


OPEN = "id", "account_id", "is_active"  # the columns of an OpenChatbot
# The columns of a Chatbot, in the order of its fields. The erasure columns are left out, because an
# erased chatbot is never found.
WHOLE = tuple(
    field.attname
    for field in Chatbot._meta.concrete_fields
    if field.name not in ("erased_at", "purge_at")
)


def whole_chatbot(*values: Any) -> Chatbot:
    """Build a Chatbot from the values of the columns in WHOLE."""
    return Chatbot.from_db(DEFAULT_DB_ALIAS, WHOLE, values)


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


def open_to_person() -> ChatbotQuerySet:
    """Return the chatbots that a person may use.

    The person's id is given when the prepared statement runs.
    """
    return open_to(Caller(PERSON))


def open_to_bound_key() -> ChatbotQuerySet:
    """Return the chatbots that a person may use with a key that is bound to an account.

    The ids of the person and of the account are given when the prepared statement runs.
    """
    return open_to(Caller(PERSON, KEY_ACCOUNT))


def chatbots_of_account() -> ChatbotQuerySet:
    """Return an account's chatbots without checking the caller.

    The account's id is given when the prepared statement runs.
    """
    return Chatbot.objects.filter(account=Given("account", UUIDField()))
