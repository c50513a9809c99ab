"""Each chatbot's thread count, which is stored because counting 100,000 rows takes too long."""

from django.db import models

from chatbots.models import Chatbot


class ThreadCount(models.Model):
    """The number of a chatbot's threads, not counting erased ones.

    Database triggers update it in the transaction that inserts or deletes a thread, so it stays
    correct after cascades and bulk statements. Erasing a thread first hides its row. Hiding a row
    runs no trigger, so `services/erasure.py` adjusts the count. Inserting a thread locks the
    chatbot's count until the transaction ends, so threads of the same chatbot are created one at a
    time. Other chatbots are not affected. On SQLite, a migration that rebuilds the threads table
    drops the triggers and must create them again.
    """

    chatbot = models.OneToOneField(
        Chatbot, on_delete=models.CASCADE, primary_key=True, related_name="+"
    )
    threads = models.IntegerField()

    def __str__(self) -> str:
        return f"{self.threads} threads of {self.chatbot_id}"
