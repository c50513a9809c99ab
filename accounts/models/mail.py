"""Outgoing emails, which are stored by the transaction that causes them and sent by the worker."""

from django.conf import settings
from django.contrib.auth.tokens import default_token_generator
from django.db import models
from django.utils import timezone
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode

from accounts.models.account import Account
from accounts.models.invitation import Invitation
from config.database.lengths import SHORT
from config.database.row import Row


class Mail(Row):
    """An email to one recipient. `due_at` is null once the email has been sent or has failed.

    An email with which `person` sets a new password belongs to no account.
    """

    class State(models.TextChoices):
        """The state of an email: waiting, being retried, sent or failed."""

        PENDING = "PENDING"
        RETRYING = "RETRYING"
        SENT = "SENT"
        FAILED = "FAILED"

    account = models.ForeignKey(Account, null=True, on_delete=models.CASCADE, related_name="mails")
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.CASCADE, editable=False
    )
    to = models.EmailField(max_length=SHORT)
    subject = models.CharField(max_length=SHORT)
    body = models.TextField()
    invitation = models.ForeignKey(
        Invitation, null=True, on_delete=models.CASCADE, related_name="mails", editable=False
    )
    # no foreign key, because `accounts` must not import the Thread model
    thread_id = models.UUIDField(null=True, editable=False)
    state = models.CharField(max_length=10, choices=State.choices, default=State.PENDING)
    due_at = models.DateTimeField(null=True, default=timezone.now)
    tries = models.PositiveIntegerField(default=0)  # incremented when an attempt starts
    claim = models.UUIDField(null=True)  # fencing token: only its holder may write
    claimed_until = models.DateTimeField(null=True)
    error = models.CharField(max_length=SHORT, blank=True)
    sent_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name = "email"
        ordering = ["-created_at"]
        indexes = [
            models.Index(
                fields=["account", "due_at", "id"],
                name="mail_due_by_account",
                condition=models.Q(due_at__isnull=False),
            ),
            models.Index(fields=["account", "created_at"], name="mail_of_an_hour"),
            models.Index(
                fields=["thread_id"],
                name="mail_of_thread",
                condition=models.Q(thread_id__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.subject} ({self.to})"

    @property
    def text(self) -> str:
        """The body, followed by a link if there is one. Links are never stored."""
        link = ""
        if self.invitation:
            link = self.invitation.link(self.invitation.mailed)
        elif self.person:
            name = urlsafe_base64_encode(force_bytes(self.person.pk))
            token = default_token_generator.make_token(self.person)
            link = f"{settings.PUBLIC_URL}/password-reset/{name}/{token}"
        return f"{self.body}\n\n{link}\n" if link else self.body
