"""Create, change and erase chatbots. Specification: Endpoints, Chatbots.

Open point: name-unique.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from sqlite3 import SQLITE_CONSTRAINT_UNIQUE
from typing import Any
from uuid import UUID

from auditlog.context import disable_auditlog
from django.db import IntegrityError, connection, transaction
from django.db.models import Model, QuerySet
from psycopg.errors import UniqueViolation

from accounts.models import Account
from accounts.quotas import take_chatbot
from chatbots.access import ChatbotNotFound
from chatbots.models import Appearance, Chatbot, GeneralSettings, Localization
from chatbots.models.erasable import erased, replacement
from chatbots.models.localization import DEFAULT_LOCALE
from config.api.errors import InvalidRequest
from config.database.prepared import columns_of, prepare, row
from config.database.row import save_changes
from config.database.trail import record_deletion

COLUMNS = columns_of(Chatbot)


def locked(*, chatbot: UUID) -> "QuerySet[Chatbot, tuple[Any, ...]]":
    """Select and lock a chatbot."""
    rows = Chatbot.objects.select_for_update(no_key=True).filter(pk=chatbot).order_by()
    return rows.values_list(*COLUMNS)


LOCKED = prepare(locked)


@contextmanager
def unique_name() -> Iterator[None]:
    """Raise InvalidRequest if the block sets a name that is already taken.

    The block must not set any other unique column. Other integrity errors are raised unchanged. For
    example, a commit inside the block violates a foreign key if the caller has just been deleted.
    """
    try:
        # If the caller has opened a transaction, a savepoint keeps the transaction usable after an
        # error. Otherwise, no savepoint is needed.
        with transaction.atomic() if connection.in_atomic_block else nullcontext():
            yield
    except IntegrityError as error:
        code = getattr(error.__cause__, "sqlite_errorcode", None)
        if code != SQLITE_CONSTRAINT_UNIQUE and not isinstance(error.__cause__, UniqueViolation):
            raise
        raise InvalidRequest.at(["name"], "Must be unique within the account") from None


def create_chatbot(account: Account, *, creator_id: UUID, name: str, description: str) -> Chatbot:
    """Create a chatbot with its settings and English texts, unless the plan's limit is reached.

    Raises ChatbotLimitReached, InvalidRequest.
    """
    with transaction.atomic():
        take_chatbot(account, Chatbot.objects.filter(account=account))
        with unique_name():
            chatbot = Chatbot.objects.create(
                account=account, created_by_user_id=creator_id, name=name, description=description
            )
        with disable_auditlog():  # the chatbot's own entry in the audit trail is enough
            GeneralSettings.objects.create(chatbot=chatbot)
            Appearance.objects.create(chatbot=chatbot)
            Localization.objects.create(chatbot=chatbot, locale_code=DEFAULT_LOCALE)
    return chatbot


def erase_chatbot(chatbot: Chatbot, *, entry: Model | None = None) -> bool:
    """Hide a chatbot permanently, and make its name available again.

    The worker later deletes the rows that depend on the chatbot. It keeps the chatbot's own row as
    long as the delivery log refers to it. `entry`, a row of the admin's log, is stored in the same
    transaction. Returns False if the chatbot was already erased.
    """
    present = Chatbot.objects.filter(pk=chatbot.pk)
    columns = {"name": replacement(), "description": "", "is_active": False}
    with transaction.atomic():
        if not present.update(**columns, **erased()):
            return False
        record_deletion(chatbot)
        if entry:
            entry.save()
    return True


def update_chatbot(chatbot_id: UUID, changes: Mapping[str, Any]) -> Chatbot:
    """Lock a chatbot and apply changes, keyed by column name. Returns the chatbot as stored.

    Raises ChatbotNotFound if the chatbot has been erased, and InvalidRequest if the new name is
    taken.
    """
    with unique_name(), transaction.atomic():
        found = LOCKED.first(chatbot=chatbot_id)
        if found is None:
            raise ChatbotNotFound
        return save_changes(row(Chatbot, COLUMNS, found), changes)
