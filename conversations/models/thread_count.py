"""How many threads a chatbot has: stored, because counting 100,000 of them takes long."""

from uuid import UUID

from django.db import models

from chatbots.models import Chatbot


class ThreadCount(models.Model):
    """The number of a chatbot's threads.

    Triggers of the database keep it, in the transaction that inserts or deletes a thread, so it
    holds for cascades and bulk statements too. Threads of one chatbot are therefore created one
    after the other, each from its insertion to its commit; other chatbots have rows of their own.
    On SQLite a migration that rebuilds the table of threads drops the triggers and must create
    them again.
    """

    chatbot = models.OneToOneField(
        Chatbot, on_delete=models.CASCADE, primary_key=True, related_name="+"
    )
    threads = models.IntegerField()

    def __str__(self) -> str:
        return f"{self.threads} threads of {self.chatbot_id}"

    @classmethod
    def of(cls, chatbot_id: UUID) -> int:
        """Read the number of a chatbot's threads."""
        counts = cls.objects.filter(chatbot=chatbot_id).values_list("threads", flat=True)
        return counts.first() or 0
