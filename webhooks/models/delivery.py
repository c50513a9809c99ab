"""Define deliveries, which store the exact bytes of an event and the schedule for sending them.

Another attempt is made only if `due_at` is set. `claim` is set while a worker holds the delivery.
Specification: States and transitions, Webhook delivery. Open point: delivery-states.
"""

from datetime import UTC, datetime
from typing import Any

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.sql.compiler import SQLCompiler

from accounts.models import Account
from chatbots.models import Chatbot
from config.database.lengths import SHORT
from config.database.row import Row
from config.outbound.failures import DETAIL_LENGTH, MOST_CODE, class_of
from webhooks.models.reason import in_words
from webhooks.payloads import event_choices


class State(models.TextChoices):
    """The state of a delivery or of an attempt. Specification: Events, Delivery rules, 5."""

    PENDING = "PENDING"
    RETRYING = "RETRYING"
    SUCCESS = "SUCCESS"
    FAILED = "FAILED"


WAITS = models.Q(due_at__isnull=False, claim__isnull=True)
RUNS = models.Q(claim__isnull=False)
# The `starts_at` of all first attempts, so that they are due immediately even if the clock is set
# back
LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


class Lane(models.IntegerChoices):
    """The lane of a waiting delivery. An endpoint's deliveries in the lowest lane start first.

    Manual retries are last, because there may be many and no visitor is waiting for them.
    """

    RETRY = 0
    FIRST = 1
    MANUAL = 2


class NextPosition(models.Func):
    """The next position, assigned by the database because the clocks of web machines differ."""

    output_field = models.BigIntegerField()

    # In the two methods below, Any is the type that the base class uses.
    def as_postgresql(self, *_: Any, **__: Any) -> tuple[str, tuple[str | int, ...]]:
        """Return SQL that takes the next number from the sequence that the migration creates."""
        return "nextval('webhooks_delivery_position')", ()

    def as_sqlite(
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **_: Any
    ) -> tuple[str, tuple[str | int, ...]]:
        """Return SQL that predicts the row's rowid, which is safe with SQLite's single writer."""
        return "(SELECT COALESCE(MAX(rowid), 0) + 1 FROM webhooks_delivery)", ()


class PositionField(models.BigIntegerField[Any, Any]):
    """A number that the database assigns when the row is inserted."""

    def pre_save(self, model_instance: models.Model, add: bool) -> Any:
        """Let the database number a new row."""
        return NextPosition() if add else super().pre_save(model_instance, add)


def generated(
    *cases: models.When, output: models.Field[Any, Any], default: Any = None
) -> "models.GeneratedField":
    """Declare a column that the database computes from other columns of the row.

    The delivery engine looks up a chatbot's rows only by `waiting_of` and `running_of`. Each of
    them has only one index, so outdated statistics cannot lead to a worse query plan.
    """
    return models.GeneratedField(
        expression=models.Case(*cases, default=default), output_field=output, db_persist=True
    )


NO_ANSWER = 0  # the `answer_class` if there was no response


def failed_answer_class() -> "models.GeneratedField":
    """Declare a column that classifies a failed last attempt by its status code.

    The value is NO_ANSWER if there was no response. It is null before the first attempt and after a
    success, so the column's index contains only failures.
    """
    tried = models.Q(attempts_count__gt=0) & ~models.Q(state=State.SUCCESS)
    classes = [
        models.When(tried & models.Q(last_code__range=codes), then=class_of(codes[0]))
        for codes in ((300, 399), (400, 499), (500, MOST_CODE))
    ]
    unanswered = models.When(tried & models.Q(last_code=None), then=NO_ANSWER)
    return generated(*classes, unanswered, output=models.SmallIntegerField(null=True))


class Delivery(Row):
    """One event for one endpoint, with its schedule and its latest result.

    A manual retry makes a FAILED delivery due again, but the state stays FAILED until an attempt
    succeeds.
    """

    chatbot = models.ForeignKey(
        Chatbot, on_delete=models.CASCADE, related_name="deliveries", db_index=False
    )
    account = models.ForeignKey(
        Account, on_delete=models.CASCADE, related_name="deliveries", db_index=False
    )
    # Not a foreign key, because threads belong to the `conversations` app, which uses this app
    thread_id = models.UUIDField(null=True)
    message_id = models.UUIDField(null=True)
    event = models.CharField(max_length=30, choices=event_choices)
    # The body is serialized only once, so the stored bytes are also the ones that are signed and
    # sent. It is empty if the content has been erased.
    body = models.BinaryField()
    is_test = models.BooleanField("tests", default=False)
    state = models.CharField(max_length=10, choices=State.choices, default=State.PENDING)
    attempts_count = models.PositiveIntegerField(default=0)
    interruptions = models.PositiveIntegerField(default=0)
    last_code = models.PositiveIntegerField(null=True)
    last_ms = models.PositiveIntegerField(null=True)
    last_reason = models.CharField(max_length=30, blank=True)  # a name in Reason or Refusal
    last_detail = models.CharField(max_length=DETAIL_LENGTH, blank=True)
    due_at = models.DateTimeField(null=True)
    claim = models.UUIDField(null=True)  # fencing token: only its holder may write
    claimed_by = models.CharField(max_length=64, blank=True)  # the worker, once the attempt begins
    claimed_until = models.DateTimeField(null=True)  # when the claim expires
    retried_by = models.CharField(max_length=SHORT, blank=True)  # who requested the test or retry
    # The bulk retry that requested the last retry. Not a foreign key, because nothing joins it.
    retry_job = models.UUIDField(null=True, editable=False)
    position = PositionField(editable=False)  # the order of a thread's events
    # `waiting_of` contains the chatbot's id while the delivery waits, and `running_of` contains it
    # while the delivery is claimed. Otherwise, these columns are null.
    waiting_of = generated(
        models.When(WAITS, then=models.F("chatbot")), output=models.UUIDField(null=True)
    )
    running_of = generated(
        models.When(RUNS, then=models.F("chatbot")), output=models.UUIDField(null=True)
    )
    lane = generated(
        models.When(state=State.RETRYING, then=Lane.RETRY),
        models.When(state=State.PENDING, then=Lane.FIRST),
        default=Lane.MANUAL,
        output=models.PositiveSmallIntegerField(),
    )
    # `starts_at` is LONG_AGO for all first attempts, so that they are ordered by position.
    starts_at = generated(
        models.When(state=State.PENDING, due_at__isnull=False, then=LONG_AGO),
        default=models.F("due_at"),
        output=models.DateTimeField(null=True),
    )
    # These two columns are used to find failures, in the admin and in retry jobs. Their indexes
    # cost nothing if the first attempt succeeds.
    failed_of = generated(
        models.When(state=State.FAILED, then=models.F("chatbot")),
        output=models.UUIDField(null=True),
    )
    answer_class = failed_answer_class()

    class Meta:
        verbose_name_plural = "deliveries"
        indexes = [
            # No index contains `claim`, so confirming an attempt changes no index (a HOT update).
            models.Index(
                fields=["waiting_of", "lane", "starts_at", "position"],
                name="delivery_waiting",
                condition=models.Q(waiting_of__isnull=False),
            ),
            models.Index(
                fields=["running_of", "thread_id"],
                name="delivery_running",
                condition=models.Q(running_of__isnull=False),
            ),
            models.Index(
                fields=["starts_at"],
                name="delivery_due",
                condition=models.Q(due_at__isnull=False, running_of__isnull=True),
            ),
            models.Index(fields=["-created_at", "-id"], name="delivery_newest"),
            models.Index(fields=["chatbot", "-created_at", "-id"], name="delivery_of_chatbot"),
            models.Index(fields=["state", "-created_at", "-id"], name="delivery_by_state"),
            models.Index(fields=["thread_id", "id"], name="delivery_of_thread"),
            models.Index(
                fields=["message_id"],
                name="delivery_of_message",
                condition=models.Q(message_id__isnull=False),
            ),
            models.Index(
                fields=["failed_of", "-created_at", "-id"],
                name="delivery_failed",
                condition=models.Q(failed_of__isnull=False),
            ),
            models.Index(
                fields=["retry_job", "state", "chatbot"],
                name="delivery_of_retry_job",
                condition=models.Q(retry_job__isnull=False),
            ),
            models.Index(
                # Includes the chatbot, so that other chatbots' rows are skipped inside the index.
                fields=["answer_class", "-created_at", "-id", "chatbot"],
                name="delivery_by_class",
                condition=models.Q(answer_class__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.event} {self.pk}"

    @property
    def last_error(self) -> str:
        """A description of why the last attempt got no response, or "" if it got one."""
        return in_words(self.last_reason, self.last_detail)

    @property
    def erased(self) -> bool:
        """Whether the content has been erased, which leaves only the entry in the log."""
        return not self.body
