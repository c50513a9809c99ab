"""Limit rows of chatbots to the chatbots that the person may use through the API."""

from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.http import HttpRequest
from unfold.admin import ModelAdmin
from unfold.contrib.filters.admin import DropdownFilter

from accounts.admin.scope import ScopedAdmin, once, person, scoped_rows
from accounts.caller import Caller
from chatbots.access import open_to
from chatbots.models import Chatbot
from config.admin.keyset import whole_id

OFFERED = 200  # chatbots in a filter's list


def open_chatbots(request: HttpRequest) -> list[UUID]:
    """Return the ids of the chatbots that the person may use, read once per request.

    With ids instead of a join, and an index that begins with the chatbot, a list reads one page of
    rows only.
    """
    return once(
        request,
        "open_chatbots",
        lambda: list(open_to(Caller(person(request).pk)).order_by().values_list("pk", flat=True)),
    )


class ChatbotRows(ScopedAdmin):
    """The base of pages whose rows belong to a chatbot that the person may use."""

    chatbot_path = "chatbot"

    def own(self, request: HttpRequest, rows: "QuerySet[Any]") -> "QuerySet[Any]":
        """Keep the rows of the person's chatbots."""
        return rows.filter(**{f"{self.chatbot_path}__in": open_chatbots(request)})


class ChatbotFilter(DropdownFilter):
    """Filters a list by one of the person's chatbots."""

    title = "chatbot"
    parameter_name = "chatbot"

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin) -> list[tuple[str, str]]:
        """Offer the first chatbots by name, and always the currently selected one."""
        rows = scoped_rows(model_admin.admin_site, Chatbot, request)
        offered = list(rows.order_by("name", "id")[:OFFERED].values_list("pk", "name"))
        wanted = whole_id(self.value() or "")
        if wanted and wanted not in dict(offered):
            offered += rows.filter(pk=wanted).values_list("pk", "name")
        return [(str(key), name) for key, name in offered]

    def queryset(self, request: HttpRequest, queryset: "QuerySet[Any]") -> "QuerySet[Any]":
        """Keep the rows of the selected chatbot."""
        if not self.value():
            return queryset
        wanted = whole_id(self.value())
        return queryset.filter(chatbot=wanted) if wanted else queryset.none()
