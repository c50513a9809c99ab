"""Canned replies: texts that an account's agents insert into their answers."""

import re

from django.db import models

from accounts.models import Account
from config.database.lengths import LONG
from config.database.row import Row

PLACEHOLDER = re.compile(r"(\s*)\{(visitor|agent|bot)\}")


class CannedReply(Row):
    """A text under a short name. An agent inserts it by typing "/" and the name."""

    account = models.ForeignKey(Account, on_delete=models.CASCADE, related_name="canned_replies")
    name = models.SlugField(max_length=50, help_text="What agents type after “/”, such as refund")
    text = models.TextField(
        max_length=LONG,
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

    def filled(self, **names: str) -> str:
        """Return the text with the names of the visitor, the agent and the bot filled in."""

        def name(found: re.Match[str]) -> str:
            space, known = found[1], names[found[2]]
            return space + known if known else ""

        return PLACEHOLDER.sub(name, self.text)
