"""Parse request bodies and format response bodies. Open points: body-bounds, status-closed.

`config.bodies` has received the whole body before this module runs.
"""

import datetime
import json
import math
import re
from itertools import islice
from typing import Any, NoReturn
from uuid import UUID

import orjson
from django.http import HttpRequest

from config.api.errors import InvalidRequest

MAX_BYTES = 1024 * 1024
MAX_DEPTH = 32
MAX_VALUES = 10_000  # maximum number of names and values, counted across all levels
JSON = "application/json"  # the only content type, whatever Accept contains
UNSENDABLE = re.compile("[\0\ud800-\udfff]")
# One name or value, and the separators after it. Possessive quantifiers prevent backtracking.
TOKEN = re.compile(r'(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[{]|[^\s,:\[\]{}"]++)[\s,:\]}]*+', re.DOTALL)


def declared_length(request: HttpRequest) -> int:
    """Return the body length that the web server reports, or 0 if it is missing or invalid."""
    try:
        return int(request.META.get("CONTENT_LENGTH") or 0)
    except ValueError:  # Django also treats an invalid length as 0
        return 0


def refuse(message: str) -> NoReturn:
    """Refuse the body without naming a field. Raises InvalidRequest."""
    raise InvalidRequest.at([], message)


def without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build an object from its pairs. Raises InvalidRequest for a duplicate key."""
    made = dict(pairs)
    if len(made) != len(pairs):
        refuse("Duplicate key")
    return made


def finite(text: str) -> float:
    """Parse a number with a fraction or exponent. Raises InvalidRequest if it overflows a float."""
    number = float(text)
    if not math.isfinite(number):
        refuse("Number out of range")
    return number


def whole(text: str) -> int:
    """Parse an integer. Raises InvalidRequest if it overflows a float.

    The range is checked first, because converting thousands of digits is slow.
    """
    finite(text)
    return int(text)


def examine(value: Any, path: tuple[str, ...] = ()) -> None:
    """Refuse excessive nesting, NUL and lone surrogates. Raises InvalidRequest."""
    if isinstance(value, str):
        if UNSENDABLE.search(value):
            raise InvalidRequest.at(list(path), "Contains a character that cannot be stored")
    elif isinstance(value, (dict, list)):
        if len(path) >= MAX_DEPTH:
            refuse(f"Nested deeper than {MAX_DEPTH}")
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for name, inner in items:
            examine(name, path)
            examine(inner, (*path, str(name)))


def bound_values(text: str) -> None:
    """Before parsing, refuse a body with too many names and values. Raises InvalidRequest.

    A body of 1 MiB can contain half a million names and values. Parsing that many would block the
    interpreter for a second.
    """
    tokens = islice(TOKEN.finditer(text), MAX_VALUES + 1)
    if sum(1 for _ in tokens) > MAX_VALUES:
        refuse(f"More than {MAX_VALUES} names and values")


def parse(raw: bytes) -> Any:
    """Parse a body as JSON. Raises InvalidRequest if it is not JSON or exceeds our limits."""
    try:
        text = raw.decode("utf-8")
        bound_values(text)
        value = json.loads(
            text,
            object_pairs_hook=without_duplicates,
            parse_float=finite,
            parse_int=whole,
            parse_constant=lambda name: refuse(f"{name} is not JSON"),
        )
    except RecursionError:
        refuse(f"Nested deeper than {MAX_DEPTH}")
    except ValueError:  # not UTF-8, or not JSON
        refuse("Expected a JSON object")
    examine(value)
    return value


def check_length(request: HttpRequest) -> None:
    """Refuse a body that is larger than MAX_BYTES. Raises InvalidRequest."""
    if declared_length(request) > MAX_BYTES:
        refuse(f"Larger than {MAX_BYTES} bytes")


def read(request: HttpRequest) -> dict[str, Any]:
    """Return the object in a request's body, or {} if it has no body. Raises InvalidRequest."""
    if not declared_length(request):
        return {}
    if (request.content_type or "").strip().lower() != JSON:
        refuse(f"Expected content type {JSON}")
    check_length(request)
    value = parse(request.body)
    if not isinstance(value, dict):
        refuse("Expected object")
    return value


def on_the_wire(value: Any) -> str:
    """Format a value that JSON has no type for: a time (in UTC with milliseconds) or a uuid.

    orjson formats uuids itself, so this function gets a uuid only if `dumps` falls back to the json
    module. Raises TypeError for other types.
    """
    if isinstance(value, datetime.datetime):
        return f"{value.astimezone(datetime.UTC).isoformat(timespec='milliseconds')[:-6]}Z"
    if isinstance(value, UUID):
        return str(value)
    raise TypeError(f"{type(value).__name__} cannot be encoded as JSON")


def dumps(value: Any) -> bytes:
    """Encode a value as JSON, with uuids and times in the format of `on_the_wire`."""
    try:
        return orjson.dumps(value, default=on_the_wire, option=orjson.OPT_PASSTHROUGH_DATETIME)
    except orjson.JSONEncodeError:  # an integer beyond 64 bits, possible in free-form objects
        return json.dumps(value, default=on_the_wire, ensure_ascii=False).encode()
