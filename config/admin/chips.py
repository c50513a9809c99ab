"""Describe a list's active filters, each with the link that removes it."""

from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from django.db.models import BooleanField

BOOLEANS = {"1": "yes", "0": "no"}
ENDS = {"_from_0": "from ", "_to_0": "to "}  # maps parameter suffixes to labels


class Chip(NamedTuple):
    """A filter in words, and the link that removes it."""

    title: str
    words: str
    url: str


def in_words(log: Any) -> list[str]:
    """Describe each filter of a list in one phrase.

    `log` is Any, because the theme's list class is not typed.
    """
    return [chip.words for chip in chips(log)]


def chips(log: Any) -> list[Chip]:
    """Describe each filter of a list in one phrase, with the link that removes it."""
    filters = {name: one for one in log.filter_specs for name in one.expected_parameters()}
    found: dict[str, list[str]] = {}
    names: dict[str, list[str]] = {}
    for name, value in parse_qsl(log.get_query_string().removeprefix("?")):
        one = filters.get(name)
        field = getattr(one, "field", None)
        choices = getattr(one, "lookup_choices", ()) or getattr(field, "flatchoices", ())
        labels = BOOLEANS if isinstance(field, BooleanField) else dict(choices)
        end = next((word for suffix, word in ENDS.items() if name.endswith(suffix)), "")
        title = str(one.title) if one else "search" if name == "q" else name
        found.setdefault(title, []).append(f"{end}{labels.get(value, value)}")
        names.setdefault(title, []).append(name)
    return [
        Chip(title, f"{title}: {' '.join(values)}", log.get_query_string(remove=names[title]))
        for title, values in found.items()
    ]
