"""The admin's site: the theme's, with a search that finds rows of this service."""

from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.contrib import admin
from django.contrib.admin import sites
from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.utils.module_loading import import_string
from unfold.sites import UnfoldAdminSite

MOST_LETTERS = 100


class Site(UnfoldAdminSite):
    """The theme's site.

    The theme's own search keeps its answers for minutes, even if their rows have changed or the
    person's rights have, and reads all matching rows.
    """

    def search(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> TemplateResponse:
        """Answer Ctrl+K with what the function of the setting finds for a text."""
        text = request.GET.get("s", "").strip()[:MOST_LETTERS]
        find = import_string(settings.ADMIN_SEARCH)
        return TemplateResponse(
            request,
            "unfold/helpers/command_results.html",
            {"text": text, "results": find(request, text) if text else []},
            headers={"Cache-Control": "no-store"},
        )


class ThemeConfig(AppConfig):
    """Configure the theme, with our site in place of its own."""

    name = "unfold"

    def ready(self) -> None:
        """Make the site the one that the admin's pages register with."""
        admin.site = sites.site = Site()
