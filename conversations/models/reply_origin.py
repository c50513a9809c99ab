"""Origins of AI messages: the versions of the rows from which their prompts were built."""

from django.db import models

from config.database.lengths import SHORT
from conversations.models.message import Message


class ReplyOrigin(models.Model):
    """The origin of an AI message.

    The message itself stores the model's response time and the reason for a fallback.

    Each pair of an id and a version identifies a Version (see the chatbots app). A Version outlives
    the row that it describes. The version is 0 if there was no such row, for example because the
    bot had no general settings and used the defaults.
    """

    message = models.OneToOneField(
        Message, primary_key=True, on_delete=models.CASCADE, related_name="origin"
    )
    # the model that replied or, for a fallback message, the last model that failed
    model_id = models.UUIDField(null=True)
    model_version = models.PositiveIntegerField(default=0)
    settings_id = models.UUIDField()
    settings_version = models.PositiveIntegerField()
    instruction_id = models.UUIDField(null=True)
    instruction_version = models.PositiveIntegerField(default=0)
    personas = models.JSONField(default=list)  # [id, version] pairs, in the prompt's order
    temperature = models.FloatField(null=True)  # null if none was sent
    history_length = models.PositiveSmallIntegerField()  # number of earlier messages in the prompt
    input_tokens = models.PositiveIntegerField(null=True)  # null if the model reported none
    output_tokens = models.PositiveIntegerField(null=True)
    # The models that failed before another model replied, each with the reason for its failure.
    failed_before = models.CharField(max_length=SHORT, blank=True)

    def __str__(self) -> str:
        return f"origin of {self.message_id}"
