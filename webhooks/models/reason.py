"""Reasons why an attempt has no response. Their names are stored, and their labels are shown."""

from django.db import models

from config.outbound.failures import Reason


class Refusal(models.TextChoices):
    """Reasons that arise within this service. `Reason` lists those that arise from the request."""

    WEBHOOK_DELETED = "WEBHOOK_DELETED", "webhook deleted"
    SWITCHED_OFF = "SWITCHED_OFF", "webhook switched off"
    ADD_ON_LOST = "ADD_ON_LOST", "webhooks add-on lost"
    CONTENT_ERASED = "CONTENT_ERASED", "content erased"
    SECRET_UNREADABLE = "SECRET_UNREADABLE", "secret cannot be decrypted"
    INTERRUPTED = "INTERRUPTED", "interrupted"
    INTERRUPTED_TOO_OFTEN = "INTERRUPTED_TOO_OFTEN", "interrupted three times"
    GIVEN_UP = "GIVEN_UP", "given up by an operator"


WORDS = dict(Reason.choices) | dict(Refusal.choices)


def in_words(reason: str, detail: str) -> str:
    """Describe a stored reason and its detail in words; return "" if there is no reason."""
    if reason == Reason.NAME_NOT_FOUND and detail and " " not in detail:
        return f"{WORDS[reason]} for {detail}"  # rows of earlier versions have no host here
    return ": ".join(filter(None, (WORDS[reason], detail)))
