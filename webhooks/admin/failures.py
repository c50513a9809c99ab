"""The page that groups failures by cause and counts them."""

from collections import Counter
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path

from accounts.admin.scope import ScopedAdmin
from config.admin.dates import time_element
from config.admin.keyset import filtered_list
from config.admin.page import page
from webhooks.admin.advice import advice
from webhooks.services.selection import cause_in_words, is_code

ENDPOINTS = 3  # maximum number of endpoints listed for each cause


class FailuresAdmin(ScopedAdmin):
    """Extends the log with a page that groups failures by cause."""

    def get_urls(self) -> list[URLPattern]:
        """Add the page's route."""
        view = self.admin_site.admin_view(self.causes_view)
        return [path("causes/", view, name="webhooks_delivery_causes"), *super().get_urls()]

    def causes_view(self, request: HttpRequest) -> HttpResponse:
        """Count the newest failures that match the log's filter, grouped by cause."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        log = filtered_list(self, request)
        columns = ("last_code", "last_reason", "chatbot__name")
        counted = log.failures(request).order_by().values_list(*columns).annotate(Count("pk"))
        groups: dict[str, Counter[str]] = {}
        for code, reason, chatbot, count in counted:
            groups.setdefault(str(code or reason), Counter())[chatbot] += count
        return page(
            self,
            request,
            "admin/webhooks/causes.html",
            title="Failures by cause",
            causes=[
                described(cause, found, log)
                for cause, found in sorted(groups.items(), key=lambda one: -one[1].total())
            ],
            since=time_element(log.reached) if log.reached else "",
            back=log.get_query_string(),
        )


def described(cause: str, chatbots: "Counter[str]", log: Any) -> dict[str, Any]:
    """Return the template context for a cause. `log` is Any because the theme leaves it untyped."""
    code = int(cause) if is_code(cause) else None
    names = [name for name, _ in chatbots.most_common(ENDPOINTS)]
    more = len(chatbots) - len(names)
    return {
        "words": cause_in_words(cause) or "not recorded",
        "count": f"{chatbots.total():,}",
        "chatbots": ", ".join([*names, *([f"{more} more"] if more else [])]),
        "advice": advice(code, cause),
        "query": log.get_query_string({"cause": cause, "state__exact": "FAILED"}) if cause else "",
    }
