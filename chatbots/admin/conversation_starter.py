"""Conversation starters: one free JSON object each, which may be large."""

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import QuerySet, TextField
from django.db.models.functions import Cast, Substr
from django.http import HttpRequest
from django.template.defaultfilters import truncatechars

from chatbots.admin.scope import ChatbotFilter, ChatbotRows
from chatbots.models import ConversationStarter
from config.admin.dates import at

SHOWN = 80  # characters of a starter in a list


class Beginning:
    """Shows how a starter begins; the database cuts it off, so that a list stays small."""

    def get_queryset(self, request: HttpRequest) -> "QuerySet[Any]":
        """Read the beginning of each starter with it."""
        rows: QuerySet[Any] = super().get_queryset(request)  # type: ignore[misc]  # a mixin
        beginning = Substr(Cast("content", TextField()), 1, SHOWN + 1)
        begun: QuerySet[Any] = rows.annotate(beginning_of_content=beginning)
        return begun

    @admin.display(description="content")
    def beginning(self, starter: Any) -> str:
        """Show how it begins."""
        return truncatechars(starter.beginning_of_content, SHOWN)


class StarterForm(forms.ModelForm):  # type: ignore[type-arg]  # generic in the stubs alone
    """A starter as staff edit it."""

    class Meta:
        model = ConversationStarter
        fields = ("chatbot", "content")

    def clean_content(self) -> dict[str, Any]:
        """Take what the API takes: an object."""
        content = self.cleaned_data["content"]
        if not isinstance(content, dict):
            raise forms.ValidationError("Expected object")
        return content


@admin.register(ConversationStarter)
class ConversationStarterAdmin(Beginning, ChatbotRows):
    """Starters are reached from their chatbot."""

    form = StarterForm
    large = ("content",)
    list_display = ("beginning", "chatbot", at("updated_at", "changed"))
    list_select_related = ("chatbot",)
    list_filter = (ChatbotFilter,)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Keep a starter with its chatbot."""
        return ("chatbot",) if obj else ()
