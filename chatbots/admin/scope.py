"""Limit pages to the rows of the chatbots that the signed-in person may use through the API.

Superusers see all rows.
"""

from typing import Any
from uuid import UUID

from django.db.models import ForeignKey, QuerySet
from django.http import HttpRequest
from unfold.admin import ModelAdmin

from accounts.admin.scope import ScopedAdmin, once, person, scoped_rows
from accounts.caller import Caller
from accounts.models import Account
from chatbots.access import open_to
from chatbots.models import Chatbot
from config.admin.choices import OFFERED, RowFilter
from config.admin.keyset import whole_id

NAMED = "named_chatbots"  # the request attribute that caches the names of chatbots


def named_chatbots(request: HttpRequest) -> dict[UUID, str]:
    """Return the names of the chatbots that the person may use, keyed by id.

    The names are read once per request.
    """
    return once(
        request,
        NAMED,
        lambda: dict(open_to(Caller(person(request).pk)).order_by().values_list("pk", "name")),
    )


def open_chatbots(request: HttpRequest) -> list[UUID]:
    """Return the ids of the chatbots that the person may use. The ids are read once per request.

    Admin lists filter by these ids instead of joining tables. The database can then read a single
    page of rows through an index whose first column is the chatbot.
    """
    return list(named_chatbots(request))


class ChatbotRows(ScopedAdmin):
    """Base for pages whose rows belong to a chatbot that the person may use."""

    chatbot_path = "chatbot"

    def own(self, request: HttpRequest, rows: "QuerySet[Any]") -> "QuerySet[Any]":
        """Select the rows of the person's chatbots."""
        return rows.filter(**{f"{self.chatbot_path}__in": open_chatbots(request)})


class OwnedByChatbot(ChatbotRows):
    """Base for pages whose rows are created for a chatbot and cannot be moved to another one."""

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Let only a new row choose its chatbot."""
        return (*(("chatbot",) if obj else ()), *self.readonly_fields)


def chatbots_of(account_id: UUID) -> list[UUID]:
    """Return the ids of an account's chatbots."""
    return list(Chatbot.everything.filter(account=account_id).values_list("pk", flat=True))


def named_account(request: HttpRequest, value: str | None) -> list[tuple[str, str]]:
    """Return the selected account as a filter's only choice, or [] if none is selected.

    The account is named "unknown" if it does not exist or if the person can open none of its
    chatbots.
    """
    if not value:
        return []
    wanted = whole_id(value)
    rows = Account.objects.filter(pk=wanted) if wanted else Account.objects.none()
    if not person(request).is_superuser:
        rows = rows.filter(chatbots__in=open_chatbots(request))
    return [(value, rows.values_list("name", flat=True).first() or "unknown")]


class AccountFilter(RowFilter):
    """Filters rows by the account of their chatbot.

    Only superusers can choose an account. Other people have few chatbots, so the filter shows
    them only the account that they selected through a link on the home page.
    """

    title = parameter_name = "account"

    def find_relation(self, model: Any) -> "ForeignKey[Any, Any]":
        """Return Chatbot's foreign key to Account, because most listed models have no such key."""
        return super().find_relation(Chatbot)

    def rows(self, request: HttpRequest, model_admin: ModelAdmin) -> "QuerySet[Any]":
        """Return all accounts. Only superusers can choose from them."""
        return Account.objects.all()

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin) -> list[tuple[str, str]]:
        """Offer superusers all accounts, and other people only the selected one."""
        if person(request).is_superuser:
            return super().lookups(request, model_admin)
        return named_account(request, self.value())

    def queryset(self, request: HttpRequest, queryset: "QuerySet[Any]") -> "QuerySet[Any]":
        """Select the rows of the account's chatbots."""
        if not self.value():
            return queryset
        wanted = whole_id(self.value())
        return queryset.filter(chatbot__in=chatbots_of(wanted)) if wanted else queryset.none()


class ChatbotFilter(RowFilter):
    """Filters a list by one of the person's chatbots."""

    title = "chatbot"
    parameter_name = "chatbot"

    def rows(self, request: HttpRequest, model_admin: ModelAdmin) -> "QuerySet[Any]":
        """Return the chatbots that the person may open."""
        return scoped_rows(model_admin.admin_site, Chatbot, request)

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin) -> list[tuple[str, str]]:
        """Offer the person's chatbots. Their names are read at most once per request.

        For superusers, who may use every chatbot, only the names that the filter offers are read.
        """
        if person(request).is_superuser:
            return super().lookups(request, model_admin)
        named, wanted = named_chatbots(request), whole_id(self.value() or "")
        offered = sorted(named.items(), key=lambda one: (one[1], one[0]))[:OFFERED]
        if wanted in named and wanted not in dict(offered):
            offered.append((wanted, named[wanted]))
        return [(str(key), name) for key, name in offered]
