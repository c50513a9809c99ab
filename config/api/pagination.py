"""Pagination: the query parameters, and the totals in a response. Specification: Pagination."""

from config.api.fields import QueryWhole, Whole
from config.api.serializers import Shape

PAGE, LIMIT, MAX_LIMIT = 1, 20, 100


class PageQuery(Shape):
    """The page to return, and its length."""

    page = QueryWhole(default=PAGE, min_value=1, help_text="The page number, starting at 1.")
    limit = QueryWhole(
        default=LIMIT, min_value=1, max_value=MAX_LIMIT, help_text="Records per page."
    )


class PageFigures(Shape):
    """The page's number and maximum length, and the list's totals."""

    page = Whole()
    limit = Whole()
    total = Whole()
    pages = Whole()


def figures(query: dict[str, int], total: int) -> dict[str, int]:
    """Return the PageFigures for one page of a list with `total` records."""
    return {
        "page": query["page"],
        "limit": query["limit"],
        "total": total,
        "pages": -(-total // query["limit"]),
    }
