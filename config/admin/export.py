"""Export a list as CSV or JSON: stream all rows that match its filters.

Each query reads the next CHUNK rows in key order. Between queries, the export holds neither a
transaction nor a database connection. Only rows that the client has not received yet stay in
memory. Before the export starts, a page shows what it will contain. While the file downloads, the
page's script polls for the number of rows sent.
"""

import csv
import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from io import StringIO
from typing import Any, ClassVar
from uuid import UUID

import orjson
from django.core.cache import cache
from django.core.exceptions import PermissionDenied
from django.db import DatabaseError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from unfold.admin import ModelAdmin

from config.admin.chips import in_words
from config.admin.keyset import filtered_list, place_of, rows_after
from config.admin.page import REMEMBERED, SANE_TOKEN, page, with_cache
from config.api.cache_outage import CACHE_ERRORS

CHUNK = 2_000  # number of rows that each query reads
COUNTED = 10_000  # maximum number of rows to count for the page that offers the export
TICKET = "ticket"
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


class State(StrEnum):
    """How far an export has progressed."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    INCOMPLETE = "incomplete"  # the database did not respond
    STOPPED = "stopped"  # the client disconnected


@dataclass(frozen=True)
class Ticket:
    """The cache key for the progress of one person's export.

    No one else can read the progress, because the key contains the person's id.
    """

    name: str

    @classmethod
    def of(cls, request: HttpRequest, given: str) -> "Ticket | None":
        """Return the ticket for a token from the page's script, or None if it is malformed."""
        return cls(f"export-{request.user.pk}-{given}") if SANE_TOKEN.fullmatch(given) else None

    def note(self, rows: int, state: State) -> None:
        """Store the progress. If the cache is down, the export continues without storing it."""
        with_cache(lambda: cache.set(self.name, (rows, state), timeout=REMEMBERED))

    def progress(self) -> tuple[int, State]:
        """Return the number of rows sent and the state, or 0 and WAITING if they are not known."""
        try:
            found = cache.get(self.name)
        except CACHE_ERRORS:
            found = None
        return found or (0, State.WAITING)

    def follow(self, found: Iterator[list[tuple[Any, ...]]]) -> Iterator[list[tuple[Any, ...]]]:
        """Yield the chunks unchanged, and record how many rows have been sent."""
        rows, state = 0, State.STOPPED
        try:
            for chunk in found:
                yield chunk
                rows += len(chunk)
                self.note(rows, State.RUNNING)
            state = State.DONE
        except DatabaseError:
            state = State.INCOMPLETE
            raise
        finally:
            self.note(rows, state)


FORMATS = {"csv": (as_csv, "text/csv; charset=utf-8"), "json": (as_json, "application/json")}


class Exporting(ModelAdmin):
    """Adds routes that export a list. Links on the list's page pass its filters to these routes."""

    export_columns: ClassVar[Mapping[str, str]] = {}  # maps the file's columns to lookups
    # The values of these columns never change, so rows keep their order during an export.
    export_key: tuple[str, ...] = ("-created_at", "-id")

    def get_urls(self) -> list[URLPattern]:
        """Add the routes for the export page, its progress and its files."""
        views = {
            "": ("export_page", self.export_page_view),
            "progress/": ("export_progress", self.export_progress_view),
            "<slug:kind>/": ("export", self.export_view),
        }
        name = f"{self.opts.app_label}_{self.opts.model_name}"
        routes = [
            path(f"export/{rest}", self.admin_site.admin_view(view), name=f"{name}_{kind}")
            for rest, (kind, view) in views.items()
        ]
        return [*routes, *super().get_urls()]

    def export_page_view(self, request: HttpRequest) -> HttpResponse:
        """Show how many rows and which columns the file will have, and link to each format."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        log = filtered_list(self, request)
        name = self.opts.verbose_name_plural
        return page(
            self,
            request,
            "admin/export.html",
            title=f"Export {name}",
            kinds=list(FORMATS),
            columns=list(self.export_columns),
            words=in_words(log),
            count=log.count_in_words(COUNTED),
            query=log.get_query_string(),
            back=reverse(f"admin:{self.opts.app_label}_{self.opts.model_name}_changelist"),
            name=name,
        )

    def export_progress_view(self, request: HttpRequest) -> HttpResponse:
        """Report the progress of this person's export to the page's script."""
        ticket = Ticket.of(request, request.GET.get(TICKET, ""))
        rows, state = ticket.progress() if ticket else (0, State.WAITING)
        return JsonResponse({"rows": rows, "state": state})

    def export_view(self, request: HttpRequest, kind: str) -> HttpResponseBase:
        """Stream the rows that the list would show with the same scope and filters."""
        if not self.has_view_permission(request) or kind not in FORMATS:
            raise PermissionDenied
        given: Any = request.GET.copy()  # Any, because the stubs type the copy as immutable
        ticket = Ticket.of(request, "".join(given.pop(TICKET, [])))
        request.GET = given  # the ticket is not a filter
        rows = filtered_list(self, request).queryset
        write, content_type = FORMATS[kind]
        found = chunks(rows, self.export_key, self.export_columns.values())
        found = ticket.follow(found) if ticket else found
        answer = StreamingHttpResponse(write(self.export_columns, found), content_type=content_type)
        name = f"{self.opts.verbose_name_plural}-{timezone.now():%Y-%m-%d-%H%M}.{kind}"
        answer["Content-Disposition"] = f'attachment; filename="{name}"'
        return answer
