"""The admin for instructions. At most one instruction per chatbot is active."""

from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern

from accounts.admin.scope import with_row
from chatbots.admin.versions import VersionedAdmin
from chatbots.models import Instruction
from chatbots.services.instruction import activate
from config.admin.page import row_routes
from config.admin.post_only import post_only


@admin.register(Instruction)
class InstructionAdmin(VersionedAdmin):
    """The pages for instructions, linked from the chatbot's page."""

    large = ("instruction",)
    fields = (
        "chatbot",
        "title",
        "instruction",
        "creativity_level",
        "deletable",
        "is_active",
    )
    readonly_fields = ("is_active",)  # the button activates an instruction
    change_form_outer_before_template = "admin/chatbots/instruction_buttons.html"
    empty_text = "There are no instructions yet. Open a chatbot and add one."

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
        return HttpResponseRedirect(self.url_of("change", instruction))
