"""How a bot behaves. Specification: Resources, General settings. Open point: defaults."""

from django.db import models

from chatbots.models.base import ChatbotSettings, flag, long_text, text, whole
from chatbots.models.llm_model import LlmModel, effective_column
from chatbots.models.version import VersionedRow


class GeneralSettingsQuerySet(models.QuerySet["GeneralSettings"]):
    """Annotates general settings with the model that the bot uses."""

    def with_llm(self) -> "GeneralSettingsQuerySet":
        """Annotate each row with `llm_id`, the id of the model that the bot uses."""
        return self.annotate(llm_id=effective_column("id", models.OuterRef("llm_model")))


class GeneralSettings(VersionedRow, ChatbotSettings):
    """A chatbot's general settings. Each chatbot has at most one row."""

    description = long_text()
    disable_smart_followup = flag(label="disable smart follow-ups")
    number_of_smart_followup_question_shown = whole(3, label="number of smart follow-up questions")
    enable_page_context_awareness = flag()
    history_message_context = whole(10, label="number of earlier messages sent to the model")
    llm_model = models.ForeignKey(
        LlmModel,
        null=True,
        blank=True,
        on_delete=models.DO_NOTHING,
        related_name="+",
        verbose_name="model",
    )
    limit_messages_per_conversation = flag()
    max_messages_per_conversation = whole(50)
    fallback_message = long_text(
        "I am sorry, I cannot answer right now. Please try again in a moment."
    )
    chat_start = text()

    content_fields = (
        "description",
        "history_message_context",
        "llm_model",
        "fallback_message",
    )

    objects = GeneralSettingsQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "general settings"
