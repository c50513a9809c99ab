"""Set the default model, store the environment's model as a row, and record failures.

See LLM_BASE_URL in the README.
"""

from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from chatbots.models import LlmModel
from config.database.lengths import SHORT

NOTED_EVERY = timedelta(minutes=1)


def make_default(model: LlmModel) -> None:
    """Make a model active and the default of bots that have not chosen one."""
    with transaction.atomic():
        LlmModel.objects.filter(is_default=True).exclude(pk=model.pk).update(is_default=False)
        LlmModel.objects.filter(pk=model.pk).update(is_default=True, is_active=True)


def note_failure(model: LlmModel, reason: str) -> None:
    """Record a model's failure for its admin page, at most once a minute.

    All accounts share the row. Call this outside any transaction, so that its lock is not held.
    """
    now = timezone.now()
    due = Q(last_failure_at=None) | Q(last_failure_at__lt=now - NOTED_EVERY)
    LlmModel.objects.filter(due, pk=model.pk).update(
        last_failure_at=now, last_failure_reason=reason[:SHORT]
    )


def keep_environment_model() -> None:
    """Make the environment's endpoint the default model, or the built-in model if it names none.

    While the environment names none, a default that staff chose stays.
    """
    with transaction.atomic():
        if settings.LLM_BASE_URL:
            model, _ = LlmModel.objects.update_or_create(
                from_environment=True,
                defaults={
                    "provider": "openai",
                    "title": settings.LLM_MODEL or "Model from the environment",
                    "name": settings.LLM_MODEL,
                    "base_url": settings.LLM_BASE_URL.rstrip("/"),
                    "key_variable": "LLM_API_KEY" if "LLM_API_KEY" in settings.LLM_KEYS else "",
                    "is_active": True,
                },
            )
            make_default(model)
            return
        LlmModel.objects.filter(from_environment=True).update(is_default=False, is_active=False)
        if not LlmModel.objects.filter(is_default=True).exists():
            offline = LlmModel.objects.filter(provider=LlmModel.OFFLINE, is_active=True).first()
            make_default(
                offline
                or LlmModel.objects.create(provider=LlmModel.OFFLINE, title="Offline demo model")
            )
