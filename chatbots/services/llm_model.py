"""Set the default model, and create a row for the model that the environment configures.

See LLM_BASE_URL in the README.
"""

from django.conf import settings
from django.db import transaction

from chatbots.models import LlmModel
from config.database.trail import update_rows


def make_default(model: LlmModel) -> None:
    """Activate a model, and make it the default for bots that have no active model."""
    with transaction.atomic():
        # A concurrent call waits here, and then sees the default that this call has set.
        list(LlmModel.objects.order_by("pk").select_for_update(no_key=True).values_list("pk"))
        update_rows(LlmModel.objects.filter(is_default=True).exclude(pk=model.pk), is_default=False)
        update_rows(LlmModel.objects.filter(pk=model.pk), is_default=True, is_active=True)


def keep_environment_model() -> None:
    """Make the environment's model the default, if the environment configures one.

    Otherwise, deactivate the model that an earlier environment configured, if any. If no
    model is the default afterward, make the built-in model the default.
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
        former = LlmModel.objects.filter(from_environment=True, is_active=True)
        update_rows(former, is_default=False, is_active=False)
        if not LlmModel.objects.filter(is_default=True).exists():
            offline = LlmModel.objects.filter(provider=LlmModel.OFFLINE, is_active=True).first()
            make_default(
                offline
                or LlmModel.objects.create(provider=LlmModel.OFFLINE, title="Offline demo model")
            )
