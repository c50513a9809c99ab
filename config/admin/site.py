"""The admin's site: the theme's, with a search that finds rows of this service."""

from collections.abc import Callable
from functools import wraps
from typing import Any
from urllib.parse import urlencode

from django.apps import AppConfig
from django.conf import settings
from django.contrib import admin
from django.contrib.admin import sites
from django.http import HttpRequest, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.module_loading import import_string
from unfold.sites import UnfoldAdminSite

from config.admin.error_pages import previous_page

MOST_LETTERS = 100


class Site(UnfoldAdminSite):
    """The theme's site.

    The theme's own search keeps its answers for minutes, even if their rows have changed or the
    person's rights have, and reads all matching rows.
    """

    def admin_view(
        self, view: Callable[..., HttpResponseBase], cacheable: bool = False
    ) -> Callable[..., HttpResponseBase]:
        """Lead back to the form after the sign-in, if its session had ended when it was sent.

        Django leads to the URL that the form was sent to, which for most buttons is no page.
        """
        guarded: Callable[..., HttpResponseBase] = super().admin_view(view, cacheable)

        @wraps(guarded)
        def opened(request: HttpRequest, *args: Any, **options: Any) -> HttpResponseBase:
            back = previous_page(request) if request.method == "POST" else ""
            if back and not self.has_permission(request):
                query = urlencode({"next": back})
                return HttpResponseRedirect(f"{reverse('admin:login')}?{query}")
            return guarded(request, *args, **options)

        return opened

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
