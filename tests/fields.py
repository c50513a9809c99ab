"""Bounds of each type of field: values that every operation accepts, and values that it rejects.

A resource proves with `check_fields` that its operation applies them.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from django.db import models

Body = dict[str, Any]


class Kind(NamedTuple):
    """A type of field. Accepted values are returned unchanged; the others are a 400."""

    right: list[Any]
    wrong: list[Any]


NO_TEXT = [5, 1.5, True, [], {}]
BLANK = ["", " ", " \n\t"]
FLAG = Kind([True, False], ["true", "", 0, 1, None, [], {}])
COUNT = Kind([0, 7, 2**31 - 1], ["1", "", 1.0, 1.5, True, None, [], {}, -1, 2**31])
SHARE = Kind([0, 1, 0.75], ["0.5", True, None, 1.0000001, -1e-9, [], 10**300])
OBJECT = Kind([{}, {"name": "Inter", "sizes": [1]}], ["x", 5, True, None, []])
COLOR = Kind(
    ["#abc", "#ABCDEF", "#012345"],
    ["#ab", "#abcd", "#abcdefa", "#abcdeg", "abcdef", "#abc\n", "red", *BLANK, *NO_TEXT, None],
)


def text(most: int) -> Kind:
    """A text of at most this many characters, which may be empty."""
    return Kind(["", " x ✓", "😀" * most], [*NO_TEXT, None, "x" * (most + 1)])


def name(most: int) -> Kind:
    """A text of at most this many characters, which must contain more than white space."""
    return Kind([" Anna ✓", "😀" * most], [*NO_TEXT, None, *BLANK, "😀" * (most + 1)])


def nullable(kind: Kind) -> Kind:
    return Kind([*kind.right, None], [value for value in kind.wrong if value is not None])


def choice(*values: str) -> Kind:
    return Kind([*values], ["", "never", values[0].upper(), None, *NO_TEXT])


def stored(row: models.Model) -> Body:
    """Read a row's columns from the database. (Django compares model instances only by id.)"""
    found: Body = type(row)._default_manager.filter(pk=row.pk).values().get()
    return found


def rounds(fields: Mapping[str, Kind], side: str) -> list[Body]:
    """Return bodies that together contain each value of each field at least once."""
    values = {key: getattr(kind, side) for key, kind in fields.items()}
    count = max(map(len, values.values()))
    return [
        {key: each[number % len(each)] for key, each in values.items()} for number in range(count)
    ]


def check_fields(
    send: Callable[[str, bytes], Any],
    path: str,
    fields: Mapping[str, Kind],
    state: Callable[[], object],
    *,
    base: Body | None = None,
    part: str = "",
) -> None:
    """Assert that an operation names each field with a wrong value, and returns the right values.

    A rejected body does not change `state`. `base` is part of each body, and `part` is the key of
    the record in the response's data, if the data contains more.
    """
    before = state()
    for body in rounds(fields, "wrong"):
        answer = send(path, encoded((base or {}) | body))
        assert answer.status_code == 400, body
        named = {tuple(error["path"]) for error in answer.json()["errors"]}
        assert named == {(key,) for key in body}, body
    assert state() == before
    for body in rounds(fields, "right"):
        answer = send(path, encoded((base or {}) | body))
        assert answer.status_code == 200, answer.text
        data = answer.json()["data"]
        record = data[part] if part else data
        returned = {key: value for key, value in body.items() if key in record}
        assert {key: record[key] for key in returned} == returned


def encoded(body: Body) -> bytes:
    return json.dumps(body, ensure_ascii=False).encode()
