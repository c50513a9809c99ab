"""The theme's admin site, with a search that finds this service's rows."""

from typing import Any

from django.conf import settings
from django.contrib.admin.views.autocomplete import AutocompleteJsonView
from django.db.models import QuerySet
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.module_loading import import_string
from unfold.sites import UnfoldAdminSite

MOST_LETTERS = 100


class ChoicesView(AutocompleteJsonView):
    """Searches the rows that a person may choose in a form."""

    model_admin: Any  # a ScopedAdmin

    def has_perm(self, request: HttpRequest, obj: Any = None) -> bool:
        """Check `may_choose`, because people may choose rows whose pages they cannot open."""
        return bool(self.model_admin.may_choose(request))

    def get_queryset(self) -> "QuerySet[Any]":
        """Order the rows as the form's select does."""
        return super().get_queryset().order_by(*self.model_admin.choice_order)


class Site(UnfoldAdminSite):
    """The theme's site with a different search.

    The theme's own search reads all matching rows. It also shows cached results for minutes, even
    after the rows or the person's permissions have changed.
    """

    def get_urls(self) -> list[Any]:
        """Leave out the redirect to a row's public page, because no row has one."""
        routes = super().get_urls()
        return [route for route in routes if getattr(route, "name", "") != "view_on_site"]

    def autocomplete_view(self, request: HttpRequest) -> HttpResponseBase:
        """Return the rows that match the text typed into a searchable select."""
        return ChoicesView.as_view(admin_site=self)(request)

    def password_change(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponseBase:
        """Let people change their own password, using the form named in ADMIN_PASSWORD_FORM."""
        # This module is loaded before the models that the view needs.
        from django.contrib.auth.views import PasswordChangeView

        return PasswordChangeView.as_view(
            form_class=import_string(settings.ADMIN_PASSWORD_FORM),
            success_url=reverse("admin:password_change_done"),
            extra_context={**self.each_context(request), **(extra_context or {})},
        )(request)

    def search(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> TemplateResponse:
        """Return the results of a Ctrl+K search, found by the function named in ADMIN_SEARCH."""
        text = request.GET.get("s", "").strip()[:MOST_LETTERS]
        find = import_string(settings.ADMIN_SEARCH)
        return TemplateResponse(
            request,
            "unfold/helpers/command_results.html",
            {"text": text, "results": find(request, text) if text else []},
            headers={"Cache-Control": "no-store"},
        )
