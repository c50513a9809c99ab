"""The admin for language models. Superusers set them up; all staff can choose among them."""

from typing import Any

from django.contrib import admin, messages
from django.db import IntegrityError
from django.db.models import ProtectedError, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern

from accounts.admin.scope import SharedRows, with_row
from chatbots.llm.fallback import SKIPPED_AFTER, to_try_out
from chatbots.models import LlmModel
from chatbots.services.llm_model import make_default
from config.admin.page import row_routes
from config.admin.post_only import post_only


@admin.register(LlmModel)
class LlmModelAdmin(SharedRows):
    """Models and their endpoints. API keys are read from the environment, not from the database."""

    key = ("title", "id")
    list_display = (
        "title",
        "provider",
        "name",
        "base_url",
        "next_model",
        "is_active",
        "is_default",
    )
    list_select_related = ("next_model",)
    list_filter = ("is_active",)
    search_fields = ("title__istartswith",)
    search_help_text = "the beginning of a title"
    fields = (
        "provider",
        "title",
        "name",
        "base_url",
        "key_variable",
        "sends_temperature",
        "next_model",
        "is_active",
        "is_default",
        "last_failure",
        "health",
    )
    readonly_fields = ("is_default", "last_failure", "health")
    change_form_outer_before_template = "admin/chatbots/llm_model_buttons.html"
    empty_text = "There are no models yet. Add one and make it the default."

    def own(self, request: HttpRequest, rows: "QuerySet[Any]") -> "QuerySet[Any]":
        """Select the active models, because bots cannot use inactive ones."""
        return rows.filter(is_active=True)

    def may_choose(self, request: HttpRequest) -> bool:
        """Return True, because all staff may choose any active model for their bots."""
        return True

    @admin.display(description="Last failure")
    def last_failure(self, model: LlmModel) -> str:
        """Show when and why the model last failed. At most one failure per minute is recorded."""
        if model.last_failure_at is None:
            return "none"
        return f"{model.last_failure_at:%Y-%m-%d %H:%M} UTC: {model.last_failure_reason}"

    @admin.display(description="State")
    def health(self, model: LlmModel) -> str:
        """Say whether the model is in use, inactive, or being skipped after repeated failures."""
        if not model.is_active:
            return "inactive: not asked"
        first, *others = to_try_out(model)
        if model.failures_in_a_row < SKIPPED_AFTER:
            return "asked first" if others else "asked"
        failed = f"failed at least {SKIPPED_AFTER} times in a row"
        if first != model:
            until = f"{model.skipped_until:%H:%M:%S} UTC"
            return f"{failed}; skipped until {until}, then tried once; meanwhile, {first} answers"
        if others:
            return f"{failed}; the next reply will try it again"
        return f"{failed}; still asked, because no active model follows it"

    def get_urls(self) -> list[URLPattern]:
        """Add the route for the button on a model's page."""
        button = row_routes(self, make_default=post_only(self.make_default_view))
        return [*button, *super().get_urls()]

    @with_row("change")
    def make_default_view(self, request: HttpRequest, model: LlmModel) -> HttpResponse:
        """Make the model the default for bots that have no active model."""
        make_default(model)
        self.log_change(request, model, "Made the default.")
        messages.success(request, f"{model} is now the default")
        return HttpResponseRedirect(self.url_of("change", model))

    @with_row("delete")
    def delete_view(
        self, request: HttpRequest, model: LlmModel, extra_context: Any = None
    ) -> HttpResponse:
        """Delete a model, or explain why it cannot be deleted."""
        reason = model.reason_to_keep()
        if reason is None:
            try:
                answer: HttpResponse = super().delete_view(request, str(model.pk), extra_context)
                return answer
            except (ProtectedError, IntegrityError):  # a reference was added after the check
                reason = "it is in use"
        first = "Make another model the default first."  # the default cannot be made inactive
        instead = first if model.is_default else "Make it inactive instead."
        messages.error(request, f"{model} cannot be deleted, because {reason}. {instead}")
        return HttpResponseRedirect(self.url_of("change", model))
