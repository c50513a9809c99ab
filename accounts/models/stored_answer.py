"""Stored answers: what a request with an Idempotency-Key was told, for those who ask again."""

from django.conf import settings
from django.db import models

from config.db import new_id


class StoredAnswer(models.Model):
    """The answer to one caller's key on one route; without a status the request still runs."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    name = models.CharField(max_length=64)  # the SHA-256 of route and key
    request_digest = models.CharField(max_length=64)  # of the body, byte for byte
    status = models.PositiveSmallIntegerField(null=True)
    body = models.BinaryField(null=True)
    claim = models.UUIDField()  # of who runs it; another one after a takeover
    claimed_until = models.DateTimeField()
    created_at = models.DateTimeField(auto_now_add=True, db_index=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "name"], name="one_answer_for_a_key")
        ]

    def __str__(self) -> str:
        return f"{self.user_id} {self.name}"
