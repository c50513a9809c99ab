"""The admin for personas. Staff create personas here. The API can only change existing ones."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from chatbots.admin.scope import ChatbotFilter
from chatbots.admin.versions import VersionedAdmin
from chatbots.models import Persona
from config.admin.dates import at


@admin.register(Persona)
class PersonaAdmin(VersionedAdmin):
    """The pages for personas, linked from the chatbot's page."""

    list_display = (
        "title",
        "chatbot",
        "is_active",
        "creativity_level",
        at("updated_at", "changed"),
    )
    large = ("description", "instructions")
    list_select_related = ("chatbot",)
    list_filter = (ChatbotFilter, "is_active")
    fields = (
        "chatbot",
        "title",
        "description",
        "instructions",
        "creativity_level",
        "is_active",
        "deletable",
    )
    change_form_outer_before_template = "admin/chatbots/persona_buttons.html"
    empty_text = "There are no personas yet. Open a chatbot and add one."

    def get_readonly_fields(self, request: HttpRequest, obj: Persona | None = None) -> Any:
        """Forbid moving a persona to another chatbot."""
        return ("chatbot",) if obj else ()

    def has_delete_permission(self, request: HttpRequest, obj: Persona | None = None) -> bool:
        """Allow a persona to be deleted only if it is marked as deletable."""
        return bool(super().has_delete_permission(request, obj)) and (obj is None or obj.deletable)
