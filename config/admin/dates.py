"""Render times in UTC. The script pages/times.js converts them to the browser's time zone."""

from collections.abc import Mapping
from datetime import UTC, datetime, time
from typing import Any

from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.dateparse import parse_datetime
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.contrib.filters.admin import RangeDateTimeFilter


def time_element(value: datetime) -> SafeString:
    """Render a time in UTC as an element that the script converts to local time."""
    return format_html(
        '<time datetime="{}" data-local>{} UTC</time>',
        value.isoformat(),
        f"{value:%Y-%m-%d %H:%M:%S}",
    )


def at(column: str, label: str, empty: str = "") -> Any:
    """Return a column that shows a time, or `empty` for None.

    Returns Any, because Django's stubs allow only names in `readonly_fields`, not functions.
    """

    @admin.display(description=label)
    def shown(row: Any) -> str:
        value = getattr(row, column)
        return time_element(value) if value else empty

    return shown


class TimeRangeFilter(RangeDateTimeFilter):
    """Filters by a time range in UTC."""

    title: str

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.title = f"{str(self.title).removesuffix(' at')} (UTC)"

    def queryset(self, request: HttpRequest, queryset: "QuerySet[Any]") -> "QuerySet[Any]":
        """Select the rows in the range. Raises IncorrectLookupParameters for an invalid time."""
        return queryset.filter(**self.bounds())

    def bounds(self) -> dict[str, datetime]:
        """Return the range as filter conditions. Raises IncorrectLookupParameters."""
        found = {}
        for end, lookup in (("from", "gte"), ("to", "lte")):
            if bound := end_of_range(self.used_parameters, str(self.parameter_name), end):
                found[f"{self.parameter_name}__{lookup}"] = bound
        return found


def end_of_range(parameters: Mapping[str, Any], name: str, end: str) -> datetime | None:
    """Return one end of a time range ("from" or "to") in UTC, or None if that end is open.

    If only a day is given, the range includes the whole day. Raises IncorrectLookupParameters for
    an invalid time, and for a time without a day.
    """
    day, hour = (parameters.get(f"{name}_{end}_{part}") for part in (0, 1))
    if not (day or hour):
        return None
    return parse_utc(f"{day}T{hour or (time.min if end == 'from' else time.max)}")


def parse_utc(text: str) -> datetime:
    """Parse a time in UTC. Raises IncorrectLookupParameters."""
    try:
        found = parse_datetime(text)
    except ValueError:
        found = None
    if found is None:
        raise IncorrectLookupParameters(text)
    return found.replace(tzinfo=UTC)
