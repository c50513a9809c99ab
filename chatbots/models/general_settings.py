"""How a bot behaves. Specification: Resources, General settings. Open point: defaults."""

from django.db import models

from chatbots.models.base import ChatbotSettings, flag, long_text, text, whole
from chatbots.models.llm_model import LlmModel, effective


class GeneralSettingsQuerySet(models.QuerySet["GeneralSettings"]):
    """General settings as they take effect."""

    def with_llm(self) -> "GeneralSettingsQuerySet":
        """Add `llm_id`, the model that answers."""
        return self.annotate(llm_id=effective("id", "llm_model"))


class GeneralSettings(ChatbotSettings):
    """One per chatbot."""

    description = long_text()
    disable_smart_followup = flag()
    number_of_smart_followup_question_shown = whole(3)
    enable_page_context_awareness = flag()
    history_message_context = whole(10)
    llm_model = models.ForeignKey(
        LlmModel, null=True, blank=True, on_delete=models.DO_NOTHING, related_name="+"
    )
    limit_messages_per_conversation = flag()
    max_messages_per_conversation = whole(50)
    fallback_message = long_text(
        "I am sorry, I cannot answer right now. Please try again in a moment."
    )
    chat_start = text()

    objects = GeneralSettingsQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "general settings"
