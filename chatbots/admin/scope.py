"""Limit rows of chatbots to the chatbots that the person may use through the API."""

from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.http import HttpRequest
from unfold.admin import ModelAdmin
from unfold.contrib.filters.admin import DropdownFilter

from accounts.admin.scope import ScopedAdmin, once, person, scoped_rows
from accounts.caller import Caller
from accounts.models import Account
from chatbots.access import open_to
from chatbots.models import Chatbot
from config.admin.keyset import whole_id

OFFERED = 200  # accounts or chatbots in a filter's list
NAMED = "named_chatbots"  # what the request keeps


def named_chatbots(request: HttpRequest) -> dict[UUID, str]:
    """Return the names of the chatbots that the person may use, by id, read once per request."""
    return once(
        request,
        NAMED,
        lambda: dict(open_to(Caller(person(request).pk)).order_by().values_list("pk", "name")),
    )


def open_chatbots(request: HttpRequest) -> list[UUID]:
    """Return the ids of the chatbots that the person may use, read once per request.

    With ids instead of a join, and an index that begins with the chatbot, a list reads only one
    page of rows.
    """
    return list(named_chatbots(request))


class ChatbotRows(ScopedAdmin):
    """The base of pages whose rows belong to a chatbot that the person may use."""

    chatbot_path = "chatbot"

    def own(self, request: HttpRequest, rows: "QuerySet[Any]") -> "QuerySet[Any]":
        """Keep the rows of the person's chatbots."""
        return rows.filter(**{f"{self.chatbot_path}__in": open_chatbots(request)})


def chatbots_of(account_id: UUID) -> list[UUID]:
    """Return the ids of an account's chatbots."""
    return list(Chatbot.everything.filter(account=account_id).values_list("pk", flat=True))


class AccountFilter(DropdownFilter):
    """Filters a list by the account of its chatbots. The links of the home page set it."""

    title = parameter_name = "account"

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin) -> list[tuple[str, str]]:
        """Name the selected account, if the person can open one of its chatbots.

        Without one, the filter is not shown, so that the list needs no query for it.
        """
        value = self.value()
        if not value:
            return []
        wanted = whole_id(value)
        rows = Account.objects.filter(pk=wanted) if wanted else Account.objects.none()
        if not person(request).is_superuser:
            rows = rows.filter(chatbots__in=open_chatbots(request))
        return [(value, rows.values_list("name", flat=True).first() or "unknown")]

    def queryset(self, request: HttpRequest, queryset: "QuerySet[Any]") -> "QuerySet[Any]":
        """Keep the rows of the account's chatbots."""
        if not self.value():
            return queryset
        wanted = whole_id(self.value())
        return queryset.filter(chatbot__in=chatbots_of(wanted)) if wanted else queryset.none()


class ChatbotFilter(DropdownFilter):
    """Filters a list by one of the person's chatbots."""

    title = "chatbot"
    parameter_name = "chatbot"

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin) -> list[tuple[str, str]]:
        """Offer the first chatbots by name, and always the currently selected one."""
        wanted = whole_id(self.value() or "")
        if person(request).is_superuser:
            rows = scoped_rows(model_admin.admin_site, Chatbot, request)
            offered = list(rows.order_by("name", "id")[:OFFERED].values_list("pk", "name"))
            if wanted and wanted not in dict(offered):
                offered += rows.filter(pk=wanted).values_list("pk", "name")
        else:
            named = named_chatbots(request)
            offered = sorted(named.items(), key=lambda one: (one[1], one[0]))[:OFFERED]
            if wanted in named and wanted not in dict(offered):
                offered.append((wanted, named[wanted]))
        return [(str(key), name) for key, name in offered]

    def queryset(self, request: HttpRequest, queryset: "QuerySet[Any]") -> "QuerySet[Any]":
        """Keep the rows of the selected chatbot."""
        if not self.value():
            return queryset
        wanted = whole_id(self.value())
        return queryset.filter(chatbot=wanted) if wanted else queryset.none()
