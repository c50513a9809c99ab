"""Bodies in and out: strict JSON and nothing else. Open points: body-bounds, status-closed."""

import datetime
import json
import math
import re
from itertools import islice
from typing import Any, NoReturn
from uuid import UUID

import orjson
from django.http import HttpRequest
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer

from config.api.errors import InvalidRequest

MAX_BYTES = 1024 * 1024
MAX_DEPTH = 32
MAX_VALUES = 10_000  # names and values of all levels together
REFUSAL = "config.refusal"  # of a request's META: the error for a body that was not received
UNSENDABLE = re.compile("[\0\ud800-\udfff]")
# One name or value, and what separates it from the next. Possessive: linear for any text.
TOKEN = re.compile(r'(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[{]|[^\s,:\[\]{}"]++)[\s,:\]}]*+', re.DOTALL)


def declared_length(request: HttpRequest) -> int:
    """Return the length of a request's body, as the web server gives it."""
    try:
        return int(request.META.get("CONTENT_LENGTH") or 0)
    except ValueError:  # Django reads nothing then
        return 0


def refuse(message: str) -> NoReturn:
    """Refuse the body as a whole."""
    raise InvalidRequest.at([], message)


def without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object of its pairs, unless a key comes twice."""
    made = dict(pairs)
    if len(made) != len(pairs):
        refuse("Duplicate key")
    return made


def finite(text: str) -> float:
    """Read a number with a point or exponent, unless it is beyond every bound."""
    number = float(text)
    if not math.isfinite(number):
        refuse("Number out of range")
    return number


def whole(text: str) -> int:
    """Read an integer, unless it is beyond every bound; writing thousands of digits is slow."""
    finite(text)
    return int(text)


def examine(value: Any, path: tuple[str, ...] = ()) -> None:
    """Refuse nesting beyond the bound, NUL and lone surrogates, naming the place."""
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
    """Refuse a text with too many names and values before it is parsed.

    1 MiB holds half a million of them, and parsing those keeps the interpreter busy for a second.
    """
    tokens = islice(TOKEN.finditer(text), MAX_VALUES + 1)
    if sum(1 for _ in tokens) > MAX_VALUES:
        refuse(f"More than {MAX_VALUES} names and values")


def parse(raw: bytes) -> Any:
    """Read a JSON text. Raises InvalidRequest for all that JSON or our bounds refuse."""
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


class StrictJSONParser(BaseParser):
    """Read a request's body."""

    media_type = "application/json"

    def parse(self, stream: Any, media_type: Any = None, parser_context: Any = None) -> Any:
        """Return the body's object. Raises InvalidRequest."""
        raw = stream.read(MAX_BYTES + 1)
        if len(raw) > MAX_BYTES:
            refuse(f"Larger than {MAX_BYTES} bytes")
        value = parse(raw)
        if not isinstance(value, dict):
            refuse("Expected object")
        return value


def on_the_wire(value: Any) -> str:
    """Write what is left to us: times in UTC with milliseconds, and uuids where orjson gave up."""
    if isinstance(value, datetime.datetime):
        utc = value.astimezone(datetime.UTC)
        return f"{utc:%Y-%m-%dT%H:%M:%S}.{utc.microsecond // 1000:03d}Z"
    if isinstance(value, UUID):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no form on the wire")


def dumps(value: Any) -> bytes:
    """Write JSON: uuids as text, times as on_the_wire says."""
    try:
        return orjson.dumps(value, default=on_the_wire, option=orjson.OPT_PASSTHROUGH_DATETIME)
    except orjson.JSONEncodeError:  # an integer beyond 64 bits, which a free object may hold
        return json.dumps(value, default=on_the_wire, ensure_ascii=False).encode()


class JSONRenderer(BaseRenderer):
    """Write an answer's body."""

    media_type = "application/json"
    format = "json"
    charset = None

    def render(
        self, data: Any, accepted_media_type: Any = None, renderer_context: Any = None
    ) -> bytes:
        """Return the body's bytes."""
        return dumps(data)


class OnlyJSON(BaseContentNegotiation):
    """One parser, one renderer; Accept is not negotiated. Open point: status-closed."""

    def select_parser(self, request: Any, parsers: Any) -> Any:
        """Choose the parser of JSON. Raises InvalidRequest for another content type."""
        kind = (request.content_type or "").split(";")[0].strip().lower()
        if kind != StrictJSONParser.media_type:
            refuse("Expected content type application/json")
        if declared_length(request) > MAX_BYTES:
            refuse(f"Larger than {MAX_BYTES} bytes")
        return parsers[0]

    def select_renderer(self, request: Any, renderers: Any, format_suffix: Any = None) -> Any:
        """Choose the renderer of JSON, whatever the caller would rather have."""
        return renderers[0], renderers[0].media_type
