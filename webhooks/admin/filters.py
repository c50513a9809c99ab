"""The delivery log's filters, and functions that convert them to a `Selection` and back."""

from datetime import tzinfo
from typing import Any

from django.contrib.admin.options import IncorrectLookupParameters
from django.db.models import QuerySet
from django.http import HttpRequest, QueryDict
from unfold.admin import ModelAdmin
from unfold.contrib.filters.admin import DropdownFilter

from chatbots.admin import scope
from config.admin.choices import RowFilter
from config.admin.dates import time_range
from config.admin.keyset import whole_id
from webhooks.models.reason import WORDS
from webhooks.payloads import event_choices
from webhooks.services.selection import (
    CLASSES,
    SUCCEEDED,
    Selection,
    cause_in_words,
    in_class,
    is_code,
    with_cause,
)


class AccountFilter(scope.AccountFilter):
    """Filters by the delivery's own account column."""

    queryset = RowFilter.queryset


class CodeFilter(DropdownFilter):
    """Filters by the class of the last response's status code, such as 4xx."""

    title, parameter_name = "last response", "code"

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin) -> list[tuple[str, str]]:
        """Offer the classes of status codes, and "none" for attempts without a response."""
        return [(name, name) for name in (SUCCEEDED, *CLASSES)]

    def queryset(self, request: HttpRequest, queryset: "QuerySet[Any]") -> "QuerySet[Any]":
        """Select the deliveries whose last attempt matches the chosen class."""
        name = self.value()
        if name == SUCCEEDED or name in CLASSES:
            return in_class(queryset, name)
        return queryset.none() if name else queryset


class CauseFilter(DropdownFilter):
    """Filters by the cause of the last failure: a status code or the name of a reason."""

    title = parameter_name = "cause"

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin) -> list[tuple[str, str]]:
        """Offer all reasons and, if the selected cause is a status code, that code."""
        chosen = self.value()
        codes = [chosen] if chosen and is_code(chosen) else []
        return [(one, cause_in_words(one)) for one in [*codes, *filter(None, WORDS)]]

    def queryset(self, request: HttpRequest, queryset: "QuerySet[Any]") -> "QuerySet[Any]":
        """Select the deliveries with the chosen cause."""
        cause = self.value()
        if not cause:
            return queryset
        known = is_code(cause) or cause in WORDS
        return with_cause(queryset, cause) if known else queryset.none()


def selection_of(query: QueryDict, zone: tzinfo) -> Selection | None:
    """Read the log's filter from a query string.

    Returns None if the filter excludes every delivery that could be retried in bulk, or if its time
    is invalid. `zone` is the time zone of the filter's times.
    """
    ids = {name: whole_id(query.get(name, "")) for name in ("chatbot", "account", "q")}
    code, cause, event = (query.get(name, "") for name in ("code", "cause", "event__exact"))
    if (
        any(query.get(name) and key is None for name, key in ids.items())
        or query.get("state__exact", "FAILED") != "FAILED"
        or query.get("is_test__exact", "0") not in ("0", "")
        or (code and code not in CLASSES)
        or (cause and not is_code(cause) and cause not in WORDS)
        or (event and event not in dict(event_choices()))
    ):
        return None
    try:
        since, until = time_range(query, "created_at", zone)
    except IncorrectLookupParameters:
        return None
    return Selection(
        chatbot=ids["chatbot"],
        account=ids["account"],
        id=ids["q"],
        event=event,
        code_class=code,
        cause=cause,
        since=since,
        until=until,
    )


def query_of(selection: Selection, zone: tzinfo) -> dict[str, str]:
    """Return a selection as parameters for the log's URL."""
    names = {"event": "event__exact", "code_class": "code", "id": "q"}
    known = selection.as_json()
    query = {
        names.get(name, name): text for name, text in known.items() if "since" != name != "until"
    }
    for end, time in (("from", selection.since), ("to", selection.until)):
        if time:
            time = time.astimezone(zone)
            query[f"created_at_{end}_0"] = f"{time:%Y-%m-%d}"
            query[f"created_at_{end}_1"] = f"{time.time()}"
    return query | {"state__exact": "FAILED"}
