"""The admin for conversation starters. Each starter is a JSON object, which may be large."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet, TextField
from django.db.models.functions import Cast, Substr
from django.http import HttpRequest
from django.template.defaultfilters import truncatechars

from accounts.admin.json_field import validated
from chatbots.admin.scope import ChatbotFilter, OwnedByChatbot
from chatbots.models import ConversationStarter
from config.admin.conflict import ConflictForm
from config.admin.dates import at
from config.api.fields import Json

SHOWN = 80  # how many characters of each starter the lists show


class Beginning:
    """Shows the beginning of a starter. The database truncates the content, which may be large."""

    def get_queryset(self, request: HttpRequest) -> "QuerySet[Any]":
        """Annotate each starter with the beginning of its content."""
        rows: QuerySet[Any] = super().get_queryset(request)  # type: ignore[misc]  # a mixin
        beginning = Substr(Cast("content", TextField()), 1, SHOWN + 1)
        begun: QuerySet[Any] = rows.annotate(beginning_of_content=beginning)
        return begun

    @admin.display(description="content")
    def beginning(self, starter: Any) -> str:
        """Show the beginning of the content."""
        return truncatechars(starter.beginning_of_content, SHOWN)


class StarterForm(ConflictForm):
    """Accepts any JSON object, as the API does."""

    class Meta:
        model = ConversationStarter
        fields = ("chatbot", "content")

    def clean_content(self) -> dict[str, Any]:
        """Require an object, as the API does."""
        content: dict[str, Any] = validated(Json(), self.cleaned_data["content"])
        return content


@admin.register(ConversationStarter)
class ConversationStarterAdmin(Beginning, OwnedByChatbot):
    """The pages for starters, linked from the chatbot's page."""

    form = StarterForm
    large = ("content",)
    list_display = ("beginning", "chatbot", at("updated_at", "changed"))
    list_select_related = ("chatbot",)
    list_filter = (ChatbotFilter,)
    empty_text = "There are no conversation starters yet. Open a chatbot and add one."
