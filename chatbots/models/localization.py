"""A bot's interface texts, one set per locale. Specification: Localization text set."""

from uuid import UUID

from django.core.validators import RegexValidator
from django.db import models

from chatbots.models.base import ListRow
from chatbots.models.chatbot import Chatbot
from chatbots.texts import NAMES, shipped_texts
from config.database.prepared import prepare

DEFAULT_LOCALE = "en"


def complete(locale_code: str, texts: dict[str, str]) -> dict[str, str]:
    """Fill in missing texts with those shipped for the locale's language, or else for English."""
    shipped = shipped_texts(DEFAULT_LOCALE) | shipped_texts(locale_code)
    return {name: texts.get(name) or shipped[name] for name in NAMES}


class LocalizationQuerySet(models.QuerySet["Localization"]):
    """Sorts text sets so that the one used for system messages comes first."""

    def spoken_first(self) -> "LocalizationQuerySet":
        """Sort the sets so that the one used for system messages comes first.

        System messages use the English set or, if there is none, the oldest set. Open point:
        system-locale.
        """
        return self.order_by(
            models.Case(models.When(locale_code=DEFAULT_LOCALE, then=0), default=1),
            "created_at",
            "id",
        )


class Localization(ListRow):
    """The texts of one locale. Stores only the texts that have been changed for the bot."""

    chatbot = models.ForeignKey(Chatbot, on_delete=models.CASCADE, related_name="localizations")
    locale_code = models.CharField(
        max_length=35,
        validators=[
            RegexValidator(
                r"^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*\Z", "enter a locale code such as en or pt-BR"
            )
        ],
    )
    texts = models.JSONField(default=dict, blank=True)

    objects = LocalizationQuerySet.as_manager()

    class Meta:
        verbose_name = "text set"
        ordering = ["created_at", "id"]
        constraints = [
            models.UniqueConstraint(fields=["chatbot", "locale_code"], name="one_set_per_locale")
        ]

    def __str__(self) -> str:
        return f"{self.locale_code} of {self.chatbot}"

    @property
    def complete_texts(self) -> dict[str, str]:
        """All texts, as visitors see them."""
        return complete(self.locale_code, self.texts)


def spoken(*, chatbot: UUID) -> "models.QuerySet[Localization, tuple[str, dict[str, str]]]":
    """Select the locale and the texts of a bot's system messages."""
    rows = Localization.objects.filter(chatbot=chatbot).spoken_first()
    return rows.values_list("locale_code", "texts")[:1]


SPOKEN = prepare(spoken)


def system_text(chatbot_id: UUID, name: str) -> str:
    """Return the text of one of a bot's system messages."""
    locale, texts = SPOKEN.first(chatbot=chatbot_id) or (DEFAULT_LOCALE, {})
    return complete(locale, texts)[name]
