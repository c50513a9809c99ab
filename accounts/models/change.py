"""The audit trail: who changed what. `ChangeManager` creates the entries."""

import json
from collections.abc import Iterator
from typing import Any
from uuid import UUID

from auditlog.models import AbstractLogEntry, LogEntryManager
from django.conf import settings
from django.contrib.contenttypes.models import ContentType
from django.core.exceptions import ObjectDoesNotExist
from django.db import models
from django.utils import timezone
from django.utils.text import Truncator

from accounts.models.account import Account
from accounts.models.api_key import ApiKey
from config.database.ids import new_id
from config.database.lengths import SHORT
from config.database.prepared import insert
from config.runtime.context import current, current_person, current_via
from config.runtime.logs import masked

KEPT = 500  # maximum length of a stored value; the full texts of instructions are in their versions
MOST = 100  # maximum number of fields in an entry, to limit its size and the time to create it
MASKED = 8 * KEPT  # values are cut to this length before masking, which takes 40 ms for 1 MiB


def account_of(row: Any) -> UUID | None:
    """Return the id of the account that a row belongs to, if any.

    A key that works in all of a person's accounts counts as belonging to the first account that
    they own, or else to their only account.
    """
    if isinstance(row, Account):
        return row.pk
    if isinstance(row, ApiKey) and row.account_id is None:
        owned = row.user.owned_accounts.order_by("pk").values_list("pk", flat=True).first()
        joined = row.user.memberships.values_list("account", flat=True)[:2]
        return owned or (joined[0] if len(joined) == 1 else None)
    try:
        owner = row if hasattr(row, "account_id") else getattr(row, "chatbot", None)
    except ObjectDoesNotExist:  # the chatbot is being deleted too
        return None
    return getattr(owner, "account_id", None)


def name_of(row: Any) -> str:
    """Return a row's name without email addresses.

    Entries are kept when a person is deleted, so they must not contain the person's address.
    """
    if not hasattr(row, "email") and not hasattr(row, "user"):
        return Truncator(masked(str(row))).chars(SHORT)
    person = row if hasattr(row, "last_login") else getattr(row, "user", None)
    return str(getattr(row, "prefix", "") or getattr(person, "name", "") or row.pk)


def fields(changes: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the name and the change of each field. Each key of a JSON object counts as a field."""
    for name, change in changes.items():
        if isinstance(change, dict):  # a change to a many-to-many relation
            yield name, change
            continue
        old, new = map(document, change)
        if isinstance(old, dict) and isinstance(new, dict):
            for key in {**old, **new}:
                if old.get(key) != new.get(key):
                    yield f"{name}.{key}", (old.get(key), new.get(key))
        else:
            yield name, change


def shortened(changes: dict[str, Any] | None) -> dict[str, Any]:
    """Return the old and new values of at most MOST fields, masked and shortened.

    If there are more fields, the last item says how many were left out.
    """
    found: dict[str, Any] = {}
    more = 0
    for name, change in fields(changes or {}):
        if len(found) == MOST:
            more += 1
        elif isinstance(change, dict):
            found[name] = change
        elif (kept := [in_trail(value) for value in change]) != [None, None]:
            found[Truncator(name).chars(SHORT)] = kept
    return found | ({"other fields": [None, f"{more} more"]} if more else {})


def document(text: Any) -> Any:
    """Parse a string that contains a JSON object. Returns any other value unchanged."""
    if not str(text).startswith("{"):
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


def in_trail(value: Any) -> str | None:
    """Mask and shorten a value for the trail. Both None and the string "None" become None."""
    if value in (None, "None"):
        return None
    return Truncator(masked(str(value)[:MASKED])).chars(KEPT)


class ChangeManager(LogEntryManager):  # type: ignore[misc]  # the library has no types
    """Stores the account in each entry, and runs fewer queries than auditlog's own manager."""

    def log_create(self, instance: Any, force_log: bool = False, **given: Any) -> "Change | None":
        """Record a change to a row. Does nothing if nothing changed, unless `force_log` is true."""
        changes = shortened(given.get("changes"))
        if not (changes or force_log):
            return None
        entry = Change(
            content_type_id=ContentType.objects.get_for_model(instance).pk,
            object_pk=str(instance.pk),
            object_repr=name_of(instance),
            account_id=account_of(instance),
            action=given["action"],
            changes=changes,
            cid=current.get().request_id,
        )
        insert(entry)
        return entry


class Change(AbstractLogEntry):  # type: ignore[misc]  # the library has no types
    """One change to one row. The entry outlives the row and the person who changed it."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    account = models.ForeignKey(
        Account, null=True, on_delete=models.CASCADE, related_name="+", db_index=False
    )
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        default=current_person,
        on_delete=models.SET_NULL,
        related_name="+",
        db_index=False,
    )
    via = models.CharField(max_length=SHORT, default=current_via)
    # AbstractLogEntry's columns, redefined without the indexes that no query uses
    object_pk = models.CharField(max_length=SHORT)
    action = models.PositiveSmallIntegerField(choices=AbstractLogEntry.Action.choices)
    cid = models.CharField(max_length=SHORT, blank=True, null=True)
    timestamp = models.DateTimeField(default=timezone.now)

    # Removes AbstractLogEntry's columns that this service does not use
    object_id = serialized_data = changes_text = additional_data = None
    remote_addr = remote_port = actor_email = None

    objects = ChangeManager()

    class Meta:
        verbose_name = "change"
        ordering = ["-timestamp", "-id"]
        indexes = [
            models.Index(fields=["account", "-timestamp", "-id"], name="change_of_account"),
            models.Index(fields=["-timestamp", "-id"], name="change_newest"),
            models.Index(fields=["actor", "-timestamp", "-id"], name="change_by_person"),
            models.Index(
                fields=["account", "content_type", "-timestamp", "-id"], name="change_of_kind"
            ),
            models.Index(fields=["object_pk"], name="change_of_row"),
        ]

    def __str__(self) -> str:
        return f"change of {self.object_repr}"
