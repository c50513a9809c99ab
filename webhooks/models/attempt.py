"""The log of attempts: each request and its response. Specification: Events, Delivery rules, 5."""

from django.db import models

from config.database import lengths
from config.database.ids import new_id
from config.outbound.failures import DETAIL_LENGTH
from webhooks.guard import LONGEST_URL
from webhooks.models.delivery import Delivery, State
from webhooks.models.reason import in_words


class Attempt(models.Model):
    """One attempt to send a delivery. Its row is inserted at the start and completed at the end."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    delivery = models.ForeignKey(
        Delivery, on_delete=models.CASCADE, related_name="attempts", db_index=False
    )
    # An interrupted attempt is repeated with the same number.
    number = models.PositiveIntegerField()
    status = models.CharField(max_length=10, choices=State.choices, default=State.PENDING)
    interrupted = models.BooleanField(default=False)
    by = models.CharField(max_length=lengths.SHORT, blank=True)  # who requested the test or retry
    url = models.CharField("URL", max_length=LONGEST_URL, blank=True)
    signature = models.CharField(max_length=100, blank=True)
    response_code = models.PositiveIntegerField(null=True)
    response_ms = models.PositiveIntegerField("response time (ms)", null=True)
    reason = models.CharField(max_length=30, blank=True)  # a name in Reason or Refusal
    detail = models.CharField(max_length=DETAIL_LENGTH, blank=True)
    response_headers = models.JSONField(default=dict)
    response_body = models.BinaryField(default=bytes)
    started_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["started_at", "id"]
        indexes = [models.Index(fields=["delivery", "started_at", "id"], name="attempt_order")]

    def __str__(self) -> str:
        return f"attempt {self.number}"

    @property
    def error(self) -> str:
        """A description of why there is no response, or "" if there is one."""
        return in_words(self.reason, self.detail)
