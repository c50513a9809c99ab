"""Numbers on pages, with thousands separators. Inputs, exports and ids have no separators."""

from typing import Any

from django.contrib import admin


def figure(column: str, label: str, empty: str = "-") -> Any:
    """Return a list column that shows a model's number with thousands separators.

    Returns Any, because Django's stubs do not know that a list column may be a function.
    """

    @admin.display(description=label, empty_value=empty)
    def shown(row: Any) -> str | None:
        value = getattr(row, column)
        return None if value is None else f"{value:,}"

    return shown
