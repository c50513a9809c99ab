"""Stored responses to requests with an Idempotency-Key, returned when a request is retried."""

from django.conf import settings
from django.db import models

from accounts.models.account import Account
from config.database.ids import new_id

SMALLEST = 1024  # smaller responses count as this many bytes, which bounds the number of rows


class StoredAnswer(models.Model):
    """The response for a caller, route and key. It has no status while the request runs."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    account = models.ForeignKey(  # the account of the object in the URL path; indexed below
        Account, on_delete=models.CASCADE, null=True, related_name="+", db_index=False
    )
    name = models.CharField(max_length=64)  # the SHA-256 of route and key
    request_digest = models.CharField(max_length=64)  # the SHA-256 of the body, byte for byte
    status = models.PositiveSmallIntegerField(null=True)
    body = models.BinaryField(null=True)
    # the thread in the response; no foreign key: `accounts` must not import the Thread model
    thread_id = models.UUIDField(null=True)
    size = models.PositiveIntegerField(null=True)  # bytes of the response, at least SMALLEST
    claim = models.UUIDField()  # the token of the running request; a takeover replaces it
    claimed_until = models.DateTimeField()
    created_at = models.DateTimeField(auto_now_add=True, db_index=True)

    class Meta:
        indexes = [  # the first index includes `size`, so an account's total needs no table reads
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
