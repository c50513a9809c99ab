"""Render times in UTC. The script pages/times.js converts them to the browser's time zone."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, time, timedelta, tzinfo
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

from django.contrib import admin, messages
from django.contrib.admin.options import IncorrectLookupParameters
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.contrib.filters.admin import RangeDateTimeFilter

from config.durations import ONE_DAY, ONE_HOUR

ZONE = "timezone"  # name of the cookie
ZONES = available_timezones()  # reads many files, so only once
PRESETS = {
    "hour": "last hour",
    "today": "today",
    "yesterday": "yesterday",
    "week": "last 7 days",
}


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


def zone_of(request: HttpRequest) -> tzinfo:
    """Return the time zone in which the person's browser shows times, or UTC without scripts.

    The script pages/times.js stores the zone's name in a cookie.
    """
    name = request.COOKIES.get(ZONE, "")
    return ZoneInfo(name) if name in ZONES else UTC


def range_query(name: str, since: datetime, zone: tzinfo) -> str:
    """Return the query string of a range that begins at a time."""
    local = since.astimezone(zone)
    return f"{name}_from_0={local:%Y-%m-%d}&{name}_from_1={local:%H:%M:%S}"


class TimeRangeFilter(RangeDateTimeFilter):
    """Filters by a time range, in the time zone in which the page shows times.

    An invalid time selects nothing. It is reported, and it stays in the filter to be corrected.
    """

    title: str

    def __init__(
        self, field: Any, request: HttpRequest, params: dict[str, Any], *args: Any, **options: Any
    ) -> None:
        super().__init__(field, request, params, *args, **options)
        self.request: HttpRequest = request
        name = str(self.parameter_name)
        if preset := params.pop(f"{name}_in", None):
            self.used_parameters[f"{name}_in"] = preset[-1]
        self.lookup_choices = [*PRESETS.items()]
        self.title = f"{str(self.title).removesuffix(' at')} ({zone_of(request)})"
        try:
            time_range(self.used_parameters, name, zone_of(request))
        except IncorrectLookupParameters:
            messages.error(request, f"Filter by {self.title}: enter a date and a valid time")

    def expected_parameters(self) -> list[str | None]:
        """Add the parameter that contains a preset."""
        return [*super().expected_parameters(), f"{self.parameter_name}_in"]

    def queryset(self, request: HttpRequest, queryset: "QuerySet[Any]") -> "QuerySet[Any]":
        """Select the rows in the range."""
        return queryset.filter(**self.bounds())

    def bounds(self) -> dict[str, datetime]:
        """Return the range as filter conditions. For an invalid time, no row meets them."""
        name = str(self.parameter_name)
        try:
            since, until = time_range(self.used_parameters, name, zone_of(self.request))
        except IncorrectLookupParameters:
            since, until = datetime.max.replace(tzinfo=UTC), None
        found = {f"{name}__gte": since, f"{name}__lte": until}
        return {lookup: bound for lookup, bound in found.items() if bound}

    def choices(self, changelist: Any) -> Iterator[Any]:
        """Offer the presets as links above the fields."""
        typed = [name for name in self.expected_parameters() if name]
        chosen = self.used_parameters.get(f"{self.parameter_name}_in")
        for choice in super().choices(changelist):
            presets = [
                (
                    label,
                    changelist.get_query_string({f"{self.parameter_name}_in": preset}, typed[:-1]),
                    preset == chosen,
                )
                for preset, label in PRESETS.items()
            ]
            yield choice | {"presets": presets}


def time_range(
    parameters: Mapping[str, Any], name: str, zone: tzinfo
) -> tuple[datetime | None, datetime | None]:
    """Return the two ends of a time range, each None if open. Raises IncorrectLookupParameters."""
    if preset := parameters.get(f"{name}_in"):
        return preset_range(preset, timezone.now().astimezone(zone))
    return end_of_range(parameters, name, "from", zone), end_of_range(parameters, name, "to", zone)


def preset_range(preset: str, now: datetime) -> tuple[datetime | None, datetime | None]:
    """Return the ends of a preset range. Raises IncorrectLookupParameters."""
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    match preset:
        case "hour":
            return now - ONE_HOUR, None
        case "today":
            return today, None
        case "yesterday":
            return today - ONE_DAY, today - timedelta(microseconds=1)
        case "week":
            return now - 7 * ONE_DAY, None
    raise IncorrectLookupParameters(preset)


def end_of_range(
    parameters: Mapping[str, Any], name: str, end: str, zone: tzinfo
) -> datetime | None:
    """Return one end of a time range ("from" or "to"), or None if that end is open.

    The range includes the whole day, minute or second that its end names. Raises
    IncorrectLookupParameters for an invalid time, and for a time without a day.
    """
    day, hour = (parameters.get(f"{name}_{end}_{part}") for part in (0, 1))
    if not (day or hour):
        return None
    last = "23:59:59.999999"
    if end == "to":
        hour = f"{hour or ''}{last[len(hour or '') :]}"
    return parse(f"{day}T{hour or time.min}", zone, fold=end == "to")


def parse(text: str, zone: tzinfo, *, fold: bool) -> datetime:
    """Parse a time in a time zone. Raises IncorrectLookupParameters.

    `fold` selects the later of two times with the same name, when clocks are set back.
    """
    try:
        found = parse_datetime(text)
        if found:
            return found.replace(tzinfo=zone, fold=fold).astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    raise IncorrectLookupParameters(text)
