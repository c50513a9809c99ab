"""The admin benchmark targets, and a check that a run meets them."""

from collections.abc import Iterator
from typing import Any

# The maximum for each figure. It applies to each page that a benchmark measures.
ASKED = {
    "lists": {"ratio": 1.5},
    "exports": {"export_first_byte_s": 1.0, "export_memory_above_idle_mb": 100.0},
    "search": {"search_p95_ms": 50.0},
}


def missed(measure: str, found: dict[str, Any]) -> Iterator[str]:
    """Yield a line for each benchmark figure that misses its target."""
    for figure, most in ASKED.get(measure, {}).items():
        for page, figures in ({"": found} if figure in found else found).items():
            if not figures[figure] <= most:
                name = f"{measure}, {page}" if page else measure
                yield f"missed: {name}: {figure} {figures[figure]:.4g}, target at most {most:g}"
