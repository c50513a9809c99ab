"""Stored responses to requests with an Idempotency-Key, returned when a request is retried."""

from django.conf import settings
from django.db import models

from accounts.models.account import Account
from config.database.ids import new_id

# smaller responses count as this many bytes, so MAX_KEPT also limits the number of rows
SMALLEST = 1024


class StoredAnswer(models.Model):
    """The response for a caller, route and key. It has no status while the request runs."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    account = models.ForeignKey(  # the account of the object in the URL path; indexed below
        Account, on_delete=models.CASCADE, null=True, related_name="+", db_index=False
    )
    name = models.CharField(max_length=64)  # the SHA-256 of the route and the key
    request_digest = models.CharField(max_length=64)  # the SHA-256 of the unparsed body
    status = models.PositiveSmallIntegerField(null=True)
    body = models.BinaryField(null=True)
    # the thread in the response; not a foreign key, because `accounts` must not import Thread
    thread_id = models.UUIDField(null=True)
    size = models.PositiveIntegerField(null=True)  # response size in bytes; at least SMALLEST
    claim = models.UUIDField()  # the token of the running request; a takeover replaces it
    claimed_until = models.DateTimeField()
    created_at = models.DateTimeField(auto_now_add=True, db_index=True)

    class Meta:
        indexes = [  # the first index includes `size`, so that a sum of sizes reads only the index
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
