"""Owed replies: AI replies that have not been generated yet. Open point: reply-owed."""

from django.db import models

from conversations.models.message import Message


class OwedReply(models.Model):
    """The reply that a message is waiting for, and the lease of the process that generates it.

    The row is inserted in the transaction that stores the message. It is deleted in the transaction
    that stores the reply or a draft, or that decides that there will be no reply.
    """

    message = models.OneToOneField(
        Message, primary_key=True, on_delete=models.CASCADE, related_name="owed_reply"
    )
    claim = models.UUIDField()  # changes each time a process claims the reply
    claimed_by = models.CharField(max_length=20, blank=True)  # a worker, or "" for a web process
    claimed_until = models.DateTimeField()
    begun = models.PositiveSmallIntegerField(default=0)  # number of attempts started

    class Meta:
        verbose_name_plural = "owed replies"
        indexes = [models.Index(fields=["claimed_until"], name="owed_reply_lapsed")]

    def __str__(self) -> str:
        return f"reply to {self.message_id}"
