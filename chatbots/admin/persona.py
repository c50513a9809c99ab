"""The admin for personas. Staff create personas here. The API can only change existing ones."""

from django.contrib import admin

from chatbots.admin.versions import VersionedAdmin
from chatbots.models import Persona


@admin.register(Persona)
class PersonaAdmin(VersionedAdmin):
    """The pages for personas, linked from the chatbot's page."""

    large = ("description", "instructions")
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
