"""Accounts: the tenant that owns chatbots."""

from typing import Any

from django.conf import settings
from django.db import models

from accounts.models.plan import Plan
from config.db import SHORT, Row


class Account(Row):
    """A tenant, with its owner and plan."""

    name = models.CharField(max_length=SHORT)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="owned_accounts"
    )
    plan = models.ForeignKey(Plan, on_delete=models.PROTECT, related_name="accounts")
    webhooks_enabled = models.BooleanField(
        "webhooks add-on",
        default=None,
        help_text="Without it webhooks can neither be set up nor sent",
    )
    mail_on_escalation = models.BooleanField(
        default=False, help_text="Mail the staff of the account when a visitor asks for a person"
    )

    class Meta:
        ordering = ["name", "id"]

    def __str__(self) -> str:
        return self.name

    def save(self, *args: Any, **options: Any) -> None:
        """Save; a new account takes the add-on from its plan. Open point: plan-webhooks."""
        if self.webhooks_enabled is None:
            self.webhooks_enabled = self.plan.webhooks_by_default
        super().save(*args, **options)
