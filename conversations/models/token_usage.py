"""Token usage by chatbot, model and day."""

from typing import Any

from django.db import models
from django.db.models import F

from chatbots.models import Chatbot


class TokenUsage(models.Model):
    """The tokens that one chatbot used with one model on one day (UTC).

    A reply's tokens are added in the transaction that stores the reply, and are not subtracted when
    the message is erased. `model_id` is not a foreign key, so usage is kept when the model is
    deleted.
    """

    chatbot = models.ForeignKey(Chatbot, on_delete=models.CASCADE, related_name="token_usages")
    model_id = models.UUIDField()
    day = models.DateField()
    replies = models.PositiveIntegerField(default=0)
    input_tokens = models.PositiveBigIntegerField(default=0)
    output_tokens = models.PositiveBigIntegerField(default=0)

    class Meta:
        verbose_name_plural = "token usage"
        constraints = [
            models.UniqueConstraint(fields=["chatbot", "day", "model_id"], name="tokens_of_one_day")
        ]
        indexes = [models.Index(fields=["day"], name="tokens_by_day")]

    def __str__(self) -> str:
        return f"{self.input_tokens} + {self.output_tokens} tokens on {self.day}"

    @staticmethod
    def add(*, input_tokens: int, output_tokens: int, **day: Any) -> None:
        """Count a reply's tokens in the transaction that stores the reply.

        The keyword arguments `chatbot_id`, `model_id` and `day` identify the row. Call this last,
        because the row stays locked until the transaction ends.
        """
        row = TokenUsage.objects.filter(**day)
        added = {
            "replies": F("replies") + 1,
            "input_tokens": F("input_tokens") + input_tokens,
            "output_tokens": F("output_tokens") + output_tokens,
        }
        if not row.update(**added):
            TokenUsage.objects.bulk_create([TokenUsage(**day)], ignore_conflicts=True)
            row.update(**added)
