"""Paginate lists: the query, the figures and the slice. Specification: Pagination."""

from typing import Any, TypeVar

from django.db.models import QuerySet

from config.api.fields import QueryWhole, Whole
from config.api.serializers import Shape

PAGE, LIMIT, MAX_LIMIT = 1, 20, 100
Rows = TypeVar("Rows", bound="QuerySet[Any]")


class PageQuery(Shape):
    """The page to return, and its length."""

    page = QueryWhole(default=PAGE, min_value=1, help_text="The page number, from 1.")
    limit = QueryWhole(
        default=LIMIT, min_value=1, max_value=MAX_LIMIT, help_text="Records per page."
    )


class PageFigures(Shape):
    """The position of a page in its list."""

    page = Whole()
    limit = Whole()
    total = Whole()
    pages = Whole()


def cut(
    rows: Rows, query: dict[str, int], *, total: int | None = None
) -> tuple[Rows, dict[str, int]]:
    """Slice one page from a list. Returns its rows and the figures of PageFigures.

    Pass `total` if it is stored; otherwise the rows are counted.
    """
    page, limit = query["page"], query["limit"]
    if total is None:
        total = rows.count()
    start = (page - 1) * limit
    figures = {"page": page, "limit": limit, "total": total, "pages": -(-total // limit)}
    return rows[start : start + limit] if start < total else rows.none(), figures
