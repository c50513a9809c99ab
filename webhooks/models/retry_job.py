"""Define retry jobs, which retry the FAILED deliveries that match a filter, at a steady pace."""

from django.db import models
from django.db.models import Q

from chatbots.models import Chatbot
from config.database.lengths import SHORT
from config.database.row import Row


class JobState(models.TextChoices):
    """The state of a retry job. A stopped job can be resumed."""

    RUNNING = "RUNNING"
    STOPPED = "STOPPED"
    DONE = "DONE"


class RetryJob(Row):
    """One bulk retry. Deliveries that fail after the job's start are not included."""

    by = models.CharField("started by", max_length=SHORT)
    filter = models.JSONField()  # as Selection.as_json returns it
    per_second = models.PositiveIntegerField("deliveries per second for each endpoint")
    failed_before = models.DateTimeField()
    expected = models.PositiveIntegerField()  # number of matches at the start, up to a limit
    state = models.CharField(max_length=10, choices=JobState.choices, default=JobState.RUNNING)
    stopped_by = models.CharField(max_length=SHORT, blank=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name = "bulk retry"
        verbose_name_plural = "bulk retries"
        indexes = [
            models.Index(fields=["state"], name="retry_job_running", condition=Q(state="RUNNING")),
            models.Index(fields=["-created_at", "-id"], name="retry_job_newest"),
        ]

    def __str__(self) -> str:
        return f"bulk retry by {self.by}"


class RetryPart(Row):
    """The part of a retry job that retries one endpoint's deliveries, with its progress."""

    job = models.ForeignKey(RetryJob, on_delete=models.CASCADE, related_name="parts")
    chatbot = models.ForeignKey(Chatbot, on_delete=models.CASCADE, related_name="+")
    is_active = models.BooleanField(default=True)  # the job is running and this part is not done
    is_done = models.BooleanField(default=False)
    retried = models.PositiveIntegerField(default=0)
    place_at = models.DateTimeField(null=True)  # creation time of the last delivery examined
    place_id = models.UUIDField(null=True)
    next_due = models.DateTimeField(null=True)  # due time to give the next attempt

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["chatbot"], condition=Q(is_active=True), name="one_retry_job_of_endpoint"
            )
        ]

    def __str__(self) -> str:
        return f"{self.job}: {self.chatbot}"
