"""Create, change and erase chatbots. Specification: Endpoints, Chatbots.

Open point: name-unique.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any
from uuid import UUID

from auditlog.context import disable_auditlog
from django.db import DEFAULT_DB_ALIAS, IntegrityError, connection, transaction
from django.db.models import UUIDField
from django.utils import timezone

from accounts.models import Account
from accounts.quotas import take_chatbot
from chatbots.access import ChatbotNotFound, OpenChatbot
from chatbots.models import Appearance, Chatbot, GeneralSettings, Localization
from chatbots.models.localization import DEFAULT_LOCALE
from config.api.errors import InvalidRequest
from config.database.erasable import erased
from config.database.prepared import Given, Update, prepared, prepared_update
from config.database.trail import record_deletion, record_update

if TYPE_CHECKING:
    from django.db.models import QuerySet

COLUMNS = tuple(field.attname for field in Chatbot._meta.concrete_fields)


def given_chatbot() -> "QuerySet[Chatbot]":
    """Select a given chatbot."""
    return Chatbot.objects.filter(pk=Given("chatbot", UUIDField()))


def unless_changed(*names: str) -> Update:
    """Build an UPDATE that matches no row if a named column has changed since it was read."""
    fields: Any = {name: Chatbot._meta.get_field(name) for name in (*names, "updated_at")}
    old: Any = {name: Given(f"old {name}", fields[name]) for name in names}
    new = {name: Given(f"new {name}", field) for name, field in fields.items()}
    return Update(given_chatbot().filter(**old), new, COLUMNS)


CHATBOT = prepared(given_chatbot)
CHANGE = prepared_update(unless_changed)


@contextmanager
def unique_name() -> Iterator[None]:
    """Convert IntegrityError to InvalidRequest: the database decides whether a name is free.

    Only the name can violate a constraint here, because foreign keys are checked at commit.
    """
    try:
        # A single statement needs no transaction of its own. Within the caller's transaction, a
        # savepoint keeps that transaction usable after an error.
        with transaction.atomic() if connection.in_atomic_block else nullcontext():
            yield
    except IntegrityError:
        raise InvalidRequest.at(["name"], "Must be unique within the account") from None


def create_chatbot(account: Account, *, creator_id: UUID, name: str, description: str) -> Chatbot:
    """Create a chatbot with its settings and English texts, within the plan's limit.

    Raises ChatbotLimitReached, InvalidRequest.
    """
    with transaction.atomic():
        take_chatbot(account, Chatbot.objects.filter(account=account))
        with unique_name():
            chatbot = Chatbot.objects.create(
                account=account, created_by_user_id=creator_id, name=name, description=description
            )
        with disable_auditlog():  # the chatbot's own entry implies the defaults
            GeneralSettings.objects.create(chatbot=chatbot)
            Appearance.objects.create(chatbot=chatbot)
            Localization.objects.create(chatbot=chatbot, locale_code=DEFAULT_LOCALE)
    return chatbot


def erase_chatbot(chatbot: Chatbot) -> bool:
    """Hide a chatbot permanently and free its name. The worker deletes what belongs to it.

    Returns False if it is already erased. The chatbot's row is kept as long as the delivery log
    refers to it.
    """
    present = Chatbot.objects.filter(pk=chatbot.pk)
    columns = {"name": f"erased {chatbot.pk}", "description": "", "is_active": False}
    with transaction.atomic():
        if not present.update(**columns, **erased()):
            return False
        record_deletion(chatbot)
    return True


def read_chatbot(chatbot_id: UUID) -> Chatbot:
    """Read a chatbot. Raises ChatbotNotFound."""
    chatbot = CHATBOT.first(chatbot=chatbot_id)
    if chatbot is None:
        raise ChatbotNotFound
    return chatbot


def update_chatbot(chatbot: OpenChatbot | Chatbot, changes: Mapping[str, Any]) -> Chatbot:
    """Apply changes, given by column name, to a chatbot as it was last read.

    No lock is needed, because no rule concerns more than one column. The UPDATE compares the
    columns that it replaces with the values last read, so the audit trail records exactly what was
    replaced. If another request has changed one of them, the chatbot is read again.

    Raises ChatbotNotFound, and InvalidRequest if the new name is taken.
    """
    new = {f"new {name}": value for name, value in changes.items()}
    while changes:
        old = {name: getattr(chatbot, name) for name in sorted(changes)}
        given = {f"old {name}": value for name, value in old.items()} | new
        differs = old != changes
        with unique_name(), transaction.atomic() if differs else nullcontext():
            given |= {"chatbot": chatbot.pk, "new updated_at": timezone.now()}
            if row := CHANGE.first(*old, **given):
                changed = Chatbot.from_db(DEFAULT_DB_ALIAS, COLUMNS, row)
                if differs:
                    record_update(Chatbot(**old), changed, old)
                return changed
        chatbot = read_chatbot(chatbot.pk)
    return read_chatbot(chatbot.pk)
