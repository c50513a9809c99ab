"""The admin for instructions. At most one instruction per chatbot is active."""

from typing import Any

from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, reverse

from accounts.admin.scope import with_row
from chatbots.admin.scope import ChatbotFilter
from chatbots.admin.versions import VersionedAdmin
from chatbots.models import Instruction
from chatbots.services.instruction import activate
from config.admin.dates import at
from config.admin.page import row_routes
from config.admin.post_only import post_only


@admin.register(Instruction)
class InstructionAdmin(VersionedAdmin):
    """The pages for instructions, linked from the chatbot's page."""

    list_display = (
        "title",
        "chatbot",
        "is_active",
        "creativity_level",
        at("updated_at", "changed"),
    )
    large = ("instruction",)
    list_select_related = ("chatbot",)
    list_filter = (ChatbotFilter, "is_active")
    fields = (
        "chatbot",
        "title",
        "instruction",
        "creativity_level",
        "deletable",
        "is_active",
    )
    change_form_outer_before_template = "admin/chatbots/instruction_buttons.html"
    empty_text = "There are no instructions yet. Open a chatbot and add one."

    def get_readonly_fields(self, request: HttpRequest, obj: Instruction | None = None) -> Any:
        """Leave activation to the button, and forbid moving an instruction to another chatbot."""
        return ("chatbot", "is_active") if obj else ("is_active",)

    def has_delete_permission(self, request: HttpRequest, obj: Instruction | None = None) -> bool:
        """Allow an instruction to be deleted only if it is marked as deletable."""
        return bool(super().has_delete_permission(request, obj)) and (obj is None or obj.deletable)

    def get_urls(self) -> list[URLPattern]:
        """Add the route for the button on an instruction's page."""
        button = row_routes(self, activate=post_only(self.activate_view))
        return [*button, *super().get_urls()]

    @with_row("change")
    def activate_view(self, request: HttpRequest, instruction: Instruction) -> HttpResponse:
        """Make an instruction the chatbot's only active one, and redirect to its page."""
        activate(instruction.chatbot_id, instruction.pk)
        self.log_change(request, instruction, "Activated.")
        messages.success(request, f"{instruction} is now active")
        return HttpResponseRedirect(
            reverse("admin:chatbots_instruction_change", args=[instruction.pk])
        )
