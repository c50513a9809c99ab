"""Export a list as CSV or JSON: stream all rows that match its filters.

Each query reads the next CHUNK rows in key order. Between queries, the export holds neither a
transaction nor a database connection. Only rows that the client has not received yet stay in
memory.
"""

import csv
import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from io import StringIO
from typing import Any, ClassVar
from uuid import UUID

import orjson
from django.core.exceptions import PermissionDenied
from django.db import DatabaseError
from django.db.models import QuerySet
from django.http import HttpRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.urls import URLPattern, path
from django.utils import timezone
from unfold.admin import ModelAdmin

from config.admin.keyset import filtered_list, place_of, rows_after

CHUNK = 2_000  # number of rows that each query reads
# Matches the places where a formula may begin: at the start of a cell, or after a semicolon, a tab
# or a line break inside the cell. A spreadsheet program that separates cells with semicolons or
# tabs ignores the quotes around the cell, and starts a new cell after each separator.
FORMULA = re.compile(r'^(?=[=+\-@\t\r])|(?<=[;\t\r\n])(?="*[=+\-@])')
INCOMPLETE = "The export is incomplete: the database did not respond. Export again."

logger = logging.getLogger(__name__)


def chunks(
    rows: "QuerySet[Any]", key: tuple[str, ...], columns: Iterable[str]
) -> Iterator[list[tuple[Any, ...]]]:
    """Yield the given columns of all rows, ordered by a key, in lists of up to CHUNK rows."""
    names = [column.lstrip("-") for column in key]
    rows = rows.select_related(None).prefetch_related(None).order_by(*key)
    rows, after = rows.values_list(*columns, *names), None
    while chunk := list(rows_after(rows, key, after)[:CHUNK]):
        yield [row[: -len(names)] for row in chunk]
        if len(chunk) < CHUNK:
            return
        after = place_of(chunk[-1][-len(names) :])


def plain(value: Any) -> Any:
    """Convert a column's value to one that JSON can represent."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return str(value) if isinstance(value, UUID) else value


def cell(value: Any) -> Any:
    """Convert a value to a spreadsheet cell. Inserts an apostrophe to turn a formula into text."""
    if isinstance(value, (list, dict)):
        value = orjson.dumps(value).decode()
    return FORMULA.sub("'", value) if isinstance(value, str) else value


def as_csv(names: Iterable[str], found: Iterable[list[tuple[Any, ...]]]) -> Iterator[bytes]:
    """Write rows as CSV with a header row. If the database fails, the last line reports it."""

    def lines(rows: Iterable[Iterable[Any]]) -> bytes:
        text = StringIO()
        csv.writer(text).writerows(rows)
        return text.getvalue().encode()

    yield b"\xef\xbb\xbf" + lines([names])  # the UTF-8 byte order mark
    try:
        for chunk in found:
            yield lines([cell(plain(value)) for value in row] for row in chunk)
    except DatabaseError as error:
        logger.error("an export ended early: %s", error)
        yield lines([[INCOMPLETE]])


def as_json(names: Iterable[str], found: Iterable[list[tuple[Any, ...]]]) -> Iterator[bytes]:
    """Write rows as a JSON array of objects. If the database fails, the array is not closed."""
    labels, separator = list(names), b""
    yield b"[\n"
    try:
        for chunk in found:
            rows = (dict(zip(labels, map(plain, row), strict=True)) for row in chunk)
            yield separator + b",\n".join(map(orjson.dumps, rows))
            separator = b",\n"
    except DatabaseError as error:
        logger.error("an export ended early: %s", error)
        return
    yield b"\n]\n"


FORMATS = {"csv": (as_csv, "text/csv; charset=utf-8"), "json": (as_json, "application/json")}


class Exporting(ModelAdmin):
    """Adds a route that exports a list. Links on the list's page pass its filters to this route."""

    export_columns: ClassVar[Mapping[str, str]] = {}  # maps the file's columns to lookups
    # The values of these columns never change, so rows keep their order during an export.
    export_key: tuple[str, ...] = ("-created_at", "-id")

    def get_urls(self) -> list[URLPattern]:
        """Add the route for the files."""
        view, opts = self.admin_site.admin_view(self.export_view), self.opts
        name = f"{opts.app_label}_{opts.model_name}_export"
        return [path("export/<slug:kind>/", view, name=name), *super().get_urls()]

    def export_view(self, request: HttpRequest, kind: str) -> HttpResponseBase:
        """Stream the rows that the list would show with the same scope and filters."""
        if not self.has_view_permission(request) or kind not in FORMATS:
            raise PermissionDenied
        rows = filtered_list(self, request).queryset
        write, content_type = FORMATS[kind]
        found = chunks(rows, self.export_key, self.export_columns.values())
        answer = StreamingHttpResponse(write(self.export_columns, found), content_type=content_type)
        name = f"{self.opts.verbose_name_plural}-{timezone.now():%Y-%m-%d-%H%M}.{kind}"
        answer["Content-Disposition"] = f'attachment; filename="{name}"'
        return answer
