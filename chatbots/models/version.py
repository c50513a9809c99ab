"""Store versions of the rows that prompts are built from, so that old prompts can be rebuilt.

The newest versions of a row are kept, and so is every version that a reply has used. A process that
generates a reply sets a version's `used` column before it asks the model, and pruning deletes only
unused versions. Marking a version as used cannot race with pruning it: each is a single statement
on the same row, so the database runs one after the other.
"""

from collections.abc import Iterable, Mapping
from copy import copy
from typing import Any, ClassVar, Self
from uuid import UUID

from django.conf import settings
from django.db import models, transaction
from django.db.models import OuterRef, Subquery

from chatbots.models.chatbot import Chatbot
from config.database.lengths import SHORT
from config.database.prepared import insert
from config.database.row import Row, save_changes
from config.runtime.context import current_person, current_via

NEWEST_KEPT = 200  # how many of a row's newest versions are kept


class Version(Row):
    """A row's content after one change, and who made the change. The content is never modified.

    `row_id` is not a foreign key, because versions are kept when their row is deleted. Deleting a
    chatbot deletes the versions of its rows.
    """

    chatbot = models.ForeignKey(
        Chatbot, null=True, on_delete=models.CASCADE, related_name="versions"
    )
    kind = models.CharField(max_length=50)  # the name of the row's model
    row_id = models.UUIDField()
    number = models.PositiveIntegerField()  # counts from 1
    content = models.JSONField()
    saved_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        default=current_person,
        on_delete=models.SET_NULL,
        related_name="+",
    )
    saved_via = models.CharField(max_length=SHORT, default=current_via)
    used = models.BooleanField(default=False)  # if True, a reply might use it: never prune it

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["row_id", "number"], name="version_number_unique")
        ]

    def __str__(self) -> str:
        return f"version {self.number}"


def content_at(row_id: UUID, number: int) -> dict[str, Any]:
    """Return the exact content of one version of a row. Raises Version.DoesNotExist."""
    found: dict[str, Any] = Version.objects.values_list("content", flat=True).get(
        row_id=row_id, number=number
    )
    return found


def unused_version(path: str) -> Subquery:
    """Select the id of a row's current version, or NULL if a reply has used that version.

    `path` is the lookup path to the row.
    """
    current = Version.objects.filter(
        row_id=OuterRef(f"{path}__id"), number=OuterRef(f"{path}__version"), used=False
    )
    return Subquery(current.values("pk"))


def use(version_ids: Iterable[UUID]) -> bool:
    """Mark versions as used. Returns False if any of the versions no longer exists.

    Call this outside any transaction: each update then commits on its own, so only one lock is held
    at a time.
    """
    return all(Version.objects.filter(pk=pk).update(used=True) for pk in version_ids)


class VersionedRow(models.Model):
    """A row that stores a version of its content whenever the content changes.

    `save` and `change` store the version in the same transaction. `QuerySet.update` and
    `bulk_create` store no version, so only tests use them to write the columns in `content_fields`.
    """

    version = models.PositiveIntegerField(default=0, editable=False)  # the current version's number
    unused: UUID | None = None  # set by `chatbots.llm.prompt.made`

    class Meta:
        abstract = True

    content_fields: ClassVar[tuple[str, ...]]

    def save(self, *args: Any, **options: Any) -> None:
        """Save the row. Also stores a version if the row is new or its content has changed."""
        with transaction.atomic():
            stored = None if self._state.adding else self._stored()
            self.version = stored.version if stored else 0
            is_new = stored is None or stored.content() != self.content()
            self.version += is_new
            if is_new and options.get("update_fields") is not None:
                options["update_fields"] = {*options["update_fields"], "version"}
            super().save(*args, **options)
            if is_new:
                self._keep()

    def content(self) -> dict[str, Any]:
        """Return the values that a version stores, as JSON types."""
        fields = [self._meta.get_field(name) for name in self.content_fields]
        values = {field.name: getattr(self, field.attname) for field in fields}  # type: ignore[union-attr]  # columns
        return {n: str(value) if isinstance(value, UUID) else value for n, value in values.items()}

    def change(self, changes: Mapping[str, Any]) -> Self:
        """Save changes to a row that the caller has locked.

        Stores a new version if the content changes.
        """
        changed = copy(self)
        for name, value in changes.items():
            setattr(changed, name, value)
        if changed.content() == self.content():
            return save_changes(self, changes)
        save_changes(self, {**changes, "version": self.version + 1})
        self._keep()
        return self

    def _stored(self) -> Self | None:
        rows: Any = type(self)._base_manager  # Any, because each subclass has its own manager
        found: Self | None = rows.select_for_update(no_key=True).filter(pk=self.pk).first()
        return found

    def _keep(self) -> None:
        """Store the current version, and prune the version that it displaces.

        The number of the version to prune is the current number minus NEWEST_KEPT. That version is
        deleted unless a reply has used it. All versions of language models are kept, because no
        chatbot owns a model, and replies do not mark its versions as used. There are few of them,
        because models are changed only by superusers or through environment variables.
        """
        chatbot_id = getattr(self, "chatbot_id", None)
        if chatbot_id and self.version > NEWEST_KEPT:
            displaced = Version.objects.filter(row_id=self.pk, number=self.version - NEWEST_KEPT)
            displaced.filter(used=False).delete()
        insert(
            Version(
                chatbot_id=chatbot_id,
                kind=self._meta.model_name or "",
                row_id=self.pk,
                number=self.version,
                content=self.content(),
            )
        )
