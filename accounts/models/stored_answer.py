"""Stored answers: what a request with an Idempotency-Key was told, for those who ask again."""

from django.conf import settings
from django.db import models

from accounts.models.account import Account
from config.database.ids import new_id

SMALLEST = 1024  # bytes that every answer counts for: a bound on bytes bounds the rows, too


class StoredAnswer(models.Model):
    """The answer to one caller's key on one route; without a status the request still runs."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    account = models.ForeignKey(  # of the path; its index is the one below
        Account, on_delete=models.CASCADE, null=True, related_name="+", db_index=False
    )
    name = models.CharField(max_length=64)  # the SHA-256 of route and key
    request_digest = models.CharField(max_length=64)  # of the body, byte for byte
    status = models.PositiveSmallIntegerField(null=True)
    body = models.BinaryField(null=True)
    thread_id = models.UUIDField(null=True)  # that it shows; no foreign key: threads live above
    size = models.PositiveIntegerField(null=True)  # of the answer: bytes, as the bound counts them
    claim = models.UUIDField()  # of who runs it; another one after a takeover
    claimed_until = models.DateTimeField()
    created_at = models.DateTimeField(auto_now_add=True, db_index=True)

    class Meta:
        indexes = [  # with the size in it, an account is summed up without reading its rows
            models.Index(fields=["account", "created_at", "size"], name="answers_of_an_account"),
            models.Index(
                fields=["thread_id"],
                name="answer_of_thread",
                condition=models.Q(thread_id__isnull=False),
            ),
        ]
        constraints = [
            models.UniqueConstraint(fields=["user", "name"], name="one_answer_for_a_key")
        ]

    def __str__(self) -> str:
        return f"{self.user_id} {self.name}"
