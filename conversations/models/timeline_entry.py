"""What staff did in a conversation: internal notes, and who assigned, resolved or reopened it."""

from django.conf import settings
from django.db import models

from config.database.ids import new_id
from config.database.lengths import LONG, SHORT
from config.runtime.context import current_via
from conversations.models.thread import Thread


class TimelineEntry(models.Model):
    """An entry that the admin shows between the messages. It is never part of the API.

    The entry is shown after the message at `position`, which was the thread's last message when the
    entry was made.
    """

    class Kind(models.TextChoices):
        """What was done."""

        NOTE = "NOTE"
        ASSIGNED = "ASSIGNED"
        UNASSIGNED = "UNASSIGNED"
        RESOLVED = "RESOLVED"
        REOPENED = "REOPENED"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    thread = models.ForeignKey(
        Thread, on_delete=models.CASCADE, related_name="timeline", db_index=False
    )
    position = models.PositiveIntegerField()
    kind = models.CharField(max_length=10, choices=Kind.choices)
    # The person who did it, or null if the visitor or the service did
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        on_delete=models.SET_NULL,
        related_name="+",
        db_index=False,
    )
    via = models.CharField(max_length=SHORT, default=current_via)
    assignee = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        on_delete=models.SET_NULL,
        related_name="+",
        db_index=False,
    )
    text = models.TextField(max_length=LONG, blank=True)

    class Meta:
        verbose_name = "timeline entry"
        verbose_name_plural = "timeline entries"
        indexes = [models.Index(fields=["thread", "position", "id"], name="timeline_of_thread")]

    def __str__(self) -> str:
        return f"{self.kind} {self.created_at:%Y-%m-%d %H:%M}"

    @property
    def words(self) -> str:
        """Say what was done and by whom. For a note, name its author."""
        by = self.author.get_full_name() if self.author else ""
        if self.kind == self.Kind.NOTE:
            return by or "A former colleague"
        if self.author and self.author == self.assignee:
            return f"{by} took this conversation"
        done = self.get_kind_display() + (
            f" to {self.assignee.get_full_name()}" if self.assignee else ""
        )
        if not by:
            again = self.kind == self.Kind.REOPENED
            return f"{done}: the visitor wrote again" if again else f"{done} ({self.via})"
        return f"{done} by {by}{'' if self.via == 'admin' else f' ({self.via})'}"
