"""Keyset pagination for lists. It needs no COUNT or OFFSET, so page 10,000 is as fast as page 1."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.options import IncorrectLookupParameters
from django.core.exceptions import BadRequest, ValidationError
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest
from unfold.admin import ModelAdmin
from unfold.views import ChangeList

from config.admin.chips import Chip, chips

AFTER = "after"
SEPARATOR = "~"  # separates a key's two values; the second is an id, so it contains no "~"


class Pager:
    """The links that the list's footer shows instead of page numbers."""

    template_name = "admin/older.html"

    def __init__(self, first_url: str | None, next_url: str | None, next_label: str) -> None:
        self.first_url, self.next_url, self.next_label = first_url, next_url, next_label


class KeysetChangeList(ChangeList):
    """A list ordered by `model_admin.key`. A page begins after the last row of the previous page.

    A key is one or two columns sorted in the same direction, such as ("-created_at", "-id"). The
    last column is unique.
    """

    next_label = "Next page"

    def get_key(self, request: HttpRequest) -> tuple[str, ...]:
        """Return the columns that the list is ordered by."""
        key: tuple[str, ...] = self.model_admin.key
        return key

    def get_ordering(self, request: HttpRequest, queryset: "QuerySet[Any]") -> list[str]:
        """Always order by the key, because no index supports any other order."""
        return list(self.get_key(request))

    def get_queryset(
        self, request: HttpRequest, exclude_parameters: list[str] | None = None
    ) -> "QuerySet[Any]":
        """Select the rows that match the filters. The page parameter is not a filter."""
        self.params.pop(AFTER, None)
        self.filter_params.pop(AFTER, None)
        rows: QuerySet[Any] = super().get_queryset(request, exclude_parameters)
        return rows

    def completed(self, rows: "QuerySet[Any]") -> "QuerySet[Any]":
        """Add the related rows and annotations that are needed only for rows on the shown page."""
        return rows

    @property
    def chips(self) -> list[Chip]:
        """Return the active filters and the search, but not the tab."""
        return [chip for chip in chips(self) if chip.title != "view"]

    def get_results(self, request: HttpRequest) -> None:
        """Read one page and one extra row, which shows whether there is a next page."""
        key = self.get_key(request)
        given = request.GET.get(AFTER)
        found = rows_after(self.queryset, key, given)[: self.list_per_page + 1]
        rows = list(self.completed(found))
        self.result_list = rows[: self.list_per_page]
        following = self.get_next(rows, key)
        self.paginator = Pager(
            self.get_query_string() if given else None,
            self.get_query_string({AFTER: following}) if following else None,
            self.next_label,
        )
        self.result_count = self.full_result_count = len(self.result_list)
        self.show_full_result_count = self.can_show_all = self.multi_page = False
        self.show_admin_actions = True

    def get_next(self, rows: list[Any], key: tuple[str, ...]) -> str | None:
        """Return the position after which the next page begins, or None on the last page."""
        more = len(rows) > self.list_per_page
        return place(self.result_list[-1], key) if more else None


def filtered_list(model_admin: ModelAdmin, request: HttpRequest) -> Any:
    """Return the list, filtered by the request's URL, for use outside the list's own page.

    Raises BadRequest for an invalid filter. Returns Any, because the theme's list class is not
    typed.
    """
    try:
        return model_admin.get_changelist_instance(request)
    except IncorrectLookupParameters as error:
        raise BadRequest("invalid filter") from error


def place(row: Model, key: tuple[str, ...]) -> str:
    """Encode a row's key values as the position after which the next page begins."""
    return place_of(getattr(row, column.lstrip("-")) for column in key)


def place_of(values: Iterable[Any]) -> str:
    """Encode a key's values as a position in the list."""
    return SEPARATOR.join(
        value.isoformat() if hasattr(value, "isoformat") else str(value) for value in values
    )


def rows_after(rows: "QuerySet[Any]", key: tuple[str, ...], given: str | None) -> "QuerySet[Any]":
    """Select the rows after a position. Raises IncorrectLookupParameters if it is invalid."""
    if not given:
        return rows
    *first, unique = key
    parts = given.rsplit(SEPARATOR, 1) if first else [given]
    step = "lt" if unique.startswith("-") else "gt"
    try:
        if len(parts) != len(key):
            raise ValidationError("a position must have a value for each column")
        values = {
            column.lstrip("-"): parsed(rows.model._meta.get_field(column.lstrip("-")), part)
            for column, part in zip(key, parts, strict=True)
        }
    except (ValidationError, ValueError, OverflowError) as error:
        raise IncorrectLookupParameters(error) from error
    last = Q(**{f"{unique.lstrip('-')}__{step}": values[unique.lstrip("-")]})
    for column in first:
        # A row after the position has a later value in this column, or the same value and a later
        # id. The separate condition on the column tells SQLite and PostgreSQL where in the index to
        # begin.
        name = column.lstrip("-")
        rows = rows.filter(**{f"{name}__{step}e": values[name]})
        last |= Q(**{f"{name}__{step}": values[name]})
    return rows.filter(last)


def parsed(column: Any, text: str) -> Any:
    """Parse a column's value. Converts times to UTC, because PostgreSQL rejects some offsets.

    Raises ValidationError for invalid text. If a time's year is out of range, raises ValueError or
    OverflowError.
    """
    value = column.to_python(text)
    return value.astimezone(UTC) if isinstance(value, datetime) else value


def selected_rows(rows: "QuerySet[Any]", request: HttpRequest) -> "QuerySet[Any]":
    """Limit a list to the rows selected for an action. Raises BadRequest for an invalid id."""
    try:
        return rows.filter(pk__in=request.POST.getlist(ACTION_CHECKBOX_NAME))
    except ValidationError as error:
        raise BadRequest("invalid id") from error


def whole_id(text: str) -> UUID | None:
    """Parse a search term as a complete id. Returns None if it is not a uuid."""
    try:
        return UUID(text.strip())
    except ValueError:
        return None
