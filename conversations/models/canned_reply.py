"""Canned replies: texts that an account's agents insert into their answers."""

import re

from django.core.exceptions import ValidationError
from django.db import models

from accounts.models import Account
from config.database.row import Row

# The page of a conversation contains all of the account's replies, so both are limited.
MOST, LENGTH = 200, 5_000
PLACEHOLDER = re.compile(r"(\s*)\{(visitor|agent|bot)\}")


class CannedReply(Row):
    """A text under a short name. An agent inserts it by typing "/" and the name."""

    account = models.ForeignKey(Account, on_delete=models.CASCADE, related_name="canned_replies")
    name = models.SlugField(max_length=50, help_text="What agents type after “/”, such as refund")
    text = models.TextField(
        max_length=LENGTH,
        help_text="{visitor}, {agent} and {bot} stand for the names of the visitor, the agent and "
        "the chatbot. An unknown name is left out.",
    )

    class Meta:
        verbose_name = "canned reply"
        verbose_name_plural = "canned replies"
        ordering = ["name", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["account", "name"],
                name="canned_reply_name",
                violation_error_message="the account already has a canned reply with this name",
            )
        ]

    def __str__(self) -> str:
        return f"/{self.name}"

    def clean(self) -> None:
        """Limit an account to MOST replies. Raises ValidationError."""
        others = CannedReply.objects.filter(account=self.account_id).exclude(pk=self.pk)
        if others.count() >= MOST:
            raise ValidationError(f"an account can have at most {MOST} canned replies")

    def filled(self, **names: str) -> str:
        """Return the text with the names of the visitor, the agent and the bot filled in."""

        def name(found: re.Match[str]) -> str:
            space, known = found[1], names[found[2]]
            return space + known if known else ""

        return PLACEHOLDER.sub(name, self.text)
