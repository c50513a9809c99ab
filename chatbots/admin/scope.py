"""Rows below chatbots: a person sees those of the chatbots that the API opens to him or her."""

from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.http import HttpRequest
from unfold.admin import ModelAdmin
from unfold.contrib.filters.admin import DropdownFilter

from accounts.admin.scope import ScopedAdmin, once, person, scoped_rows
from chatbots.access import open_to
from chatbots.models import Chatbot
from config.admin.keyset import whole_id

OFFERED = 200  # chatbots in a filter's list


def open_chatbots(request: HttpRequest) -> list[UUID]:
    """Name the chatbots that are open to the person, read once per request.

    Their ids, not a join: with an index that begins with the chatbot, a list then costs one page.
    """
    return once(
        request,
        "open_chatbots",
        lambda: list(open_to(person(request)).order_by().values_list("pk", flat=True)),
    )


class ChatbotRows(ScopedAdmin):
    """Rows that belong to a chatbot."""

    chatbot_path = "chatbot"

    def own(self, request: HttpRequest, rows: "QuerySet[Any]") -> "QuerySet[Any]":
        """Keep the rows of the person's chatbots."""
        return rows.filter(**{f"{self.chatbot_path}__in": open_chatbots(request)})


class ChatbotFilter(DropdownFilter):
    """Filters by one of the person's chatbots."""

    title = "chatbot"
    parameter_name = "chatbot"

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin) -> list[tuple[str, str]]:
        """Offer the chatbots by name; one that is filtered by is among them."""
        rows = scoped_rows(model_admin.admin_site, Chatbot, request)
        offered = list(rows.order_by("name", "id")[:OFFERED].values_list("pk", "name"))
        wanted = whole_id(self.value() or "")
        if wanted and wanted not in dict(offered):
            offered += rows.filter(pk=wanted).values_list("pk", "name")
        return [(str(key), name) for key, name in offered]

    def queryset(self, request: HttpRequest, queryset: "QuerySet[Any]") -> "QuerySet[Any]":
        """Keep the rows of the chatbot."""
        if not self.value():
            return queryset
        wanted = whole_id(self.value())
        return queryset.filter(chatbot=wanted) if wanted else queryset.none()
