"""Deliveries: an event's exact bytes, and the schedule for sending them to the endpoint.

Only `due_at` tells whether an attempt remains to be made; `claim` tells that a worker has taken it.
Specification: States and transitions, Webhook delivery. Open point: delivery-states.
"""

from typing import Any

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.sql.compiler import SQLCompiler

from accounts.models import Account
from chatbots.models import Chatbot
from config.database.lengths import SHORT
from config.database.row import Row
from config.outbound.failures import DETAIL_LENGTH
from webhooks.models.reason import in_words
from webhooks.payloads import event_choices


class State(models.TextChoices):
    """The state of a delivery or of an attempt. Specification: Events, Delivery rules, 5."""

    PENDING = "PENDING"
    RETRYING = "RETRYING"
    SUCCESS = "SUCCESS"
    FAILED = "FAILED"


WAITS = models.Q(due_at__isnull=False, claim__isnull=True)


class NextPosition(models.Func):
    """The next number of the database's own sequence: a web machine's clock gives no order."""

    output_field = models.BigIntegerField()

    # Any, below: as in the base class
    def as_postgresql(self, *_: Any, **__: Any) -> tuple[str, tuple[str | int, ...]]:
        """Take it from the sequence that the migration creates."""
        return "nextval('webhooks_delivery_position')", ()

    def as_sqlite(
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **_: Any
    ) -> tuple[str, tuple[str | int, ...]]:
        """Take the row's own number: one process writes at a time."""
        return "(SELECT COALESCE(MAX(rowid), 0) + 1 FROM webhooks_delivery)", ()


class PositionField(models.BigIntegerField[Any, Any]):
    """A number that the database gives when the row is inserted."""

    def pre_save(self, model_instance: models.Model, add: bool) -> Any:
        """Let the database number a new row."""
        return NextPosition() if add else super().pre_save(model_instance, add)


def chatbot_if(condition: models.Q) -> "models.GeneratedField":
    """Make a column that names the chatbot while a condition holds, and is null otherwise.

    The engine finds rows only through these columns, so no other index can serve its statements
    and their plans do not depend on statistics.
    """
    return models.GeneratedField(
        expression=models.Case(models.When(condition, then=models.F("chatbot"))),
        output_field=models.UUIDField(null=True),
        db_persist=True,
    )


class Delivery(Row):
    """One event on its way to one endpoint.

    A manual retry makes a FAILED delivery due again; it stays FAILED until an attempt succeeds.
    """

    chatbot = models.ForeignKey(
        Chatbot, on_delete=models.CASCADE, related_name="deliveries", db_index=False
    )
    account = models.ForeignKey(
        Account, on_delete=models.CASCADE, related_name="deliveries", db_index=False
    )
    thread_id = models.UUIDField(null=True)  # no foreign key: threads live in the app above
    message_id = models.UUIDField(null=True)
    event = models.CharField(max_length=30, choices=event_choices)
    # Made once: the same bytes are stored, signed and sent. Empty once the content is erased.
    body = models.BinaryField()
    is_test = models.BooleanField(default=False)
    state = models.CharField(max_length=10, choices=State.choices, default=State.PENDING)
    attempts_count = models.PositiveIntegerField(default=0)
    interruptions = models.PositiveIntegerField(default=0)
    last_code = models.PositiveIntegerField(null=True)
    last_ms = models.PositiveIntegerField(null=True)
    last_reason = models.CharField(max_length=30, blank=True)  # of Reason or Refusal
    last_detail = models.CharField(max_length=DETAIL_LENGTH, blank=True)
    due_at = models.DateTimeField(null=True)
    claim = models.UUIDField(null=True)  # fencing token: only its holder may write
    claimed_by = models.CharField(max_length=64, blank=True)  # the worker, whose death is detected
    claimed_until = models.DateTimeField(null=True)  # the lease, as a last resort
    retried_by = models.CharField(max_length=SHORT, blank=True)  # who requested the manual attempt
    position = PositionField(editable=False)  # the order of a thread's events
    # Whose first attempt, retry or manual retry waits, and whose attempt is in flight
    first_of = chatbot_if(WAITS & models.Q(state=State.PENDING))
    again_of = chatbot_if(WAITS & models.Q(state=State.RETRYING))
    manual_of = chatbot_if(WAITS & models.Q(state=State.FAILED))
    running_of = chatbot_if(models.Q(claim__isnull=False))

    class Meta:
        verbose_name_plural = "deliveries"
        indexes = [
            models.Index(
                fields=["first_of", "position"],
                name="delivery_first",
                condition=models.Q(first_of__isnull=False),
            ),
            models.Index(
                fields=["again_of", "due_at", "position"],
                name="delivery_again",
                condition=models.Q(again_of__isnull=False),
            ),
            models.Index(
                fields=["manual_of", "due_at", "position"],
                name="delivery_manual",
                condition=models.Q(manual_of__isnull=False),
            ),
            models.Index(
                fields=["running_of", "thread_id"],
                name="delivery_running",
                condition=models.Q(running_of__isnull=False),
            ),
            models.Index(
                fields=["due_at", "id"],
                name="delivery_due",
                condition=WAITS & ~models.Q(state=State.PENDING),
            ),
            models.Index(
                fields=["claimed_by"],
                name="delivery_claimed",
                condition=models.Q(claim__isnull=False),
            ),
            models.Index(fields=["-created_at", "-id"], name="delivery_newest"),
            models.Index(fields=["chatbot", "-created_at", "-id"], name="delivery_of_chatbot"),
            models.Index(fields=["state", "-created_at", "-id"], name="delivery_by_state"),
            models.Index(fields=["thread_id", "id"], name="delivery_of_thread"),
        ]

    def __str__(self) -> str:
        return f"{self.event} {self.pk}"

    @property
    def last_error(self) -> str:
        """Why the last attempt has no response, in words; empty if it has one."""
        return in_words(self.last_reason, self.last_detail)

    @property
    def erased(self) -> bool:
        """Whether the content was erased: only the entry in the log is left."""
        return not self.body
