"""Show numbers with thousands separators, except in inputs, exports and ids."""

from typing import Any

from django.contrib import admin


def figure(column: str, label: str, empty: str = "") -> Any:
    """Return a column that shows a number with thousands separators, or `empty` for None.

    Returns Any, because Django's stubs allow only names in `readonly_fields`, not functions.
    """

    @admin.display(description=label)
    def shown(row: Any) -> str:
        value = getattr(row, column)
        return empty if value is None else f"{value:,}"

    return shown
