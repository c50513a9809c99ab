"""Describe events in the OpenAPI document, based on their payloads. Specification: Events."""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from datetime import datetime
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints
from uuid import UUID

from django.conf import settings

from config.api.naming import camel, capitalized
from config.api.schema import Schema, with_example
from webhooks.payloads import KINDS, Data
from webhooks.signing import headers_of

PLAIN: dict[type, Schema] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    UUID: {"type": "string", "format": "uuid"},
    datetime: {"type": "string", "format": "date-time"},
}
OPEN_POINTS = ["delivery-states", "delivery-config", "plan-webhooks"]  # these concern every event
HEADERS = headers_of(
    token="The configured secret.",  # noqa: S106 - a description
    signature="`sha256=` followed by the lowercase hex of HMAC-SHA256 over the raw body, keyed "
    "with the secret.",
)


def schema_of(kind: Any) -> Schema:
    """Return the schema for a payload class, or for the type annotation of one of its fields."""
    if is_dataclass(kind):
        return {"$ref": f"#/components/schemas/{name_of(kind)}"}
    if get_origin(kind) is list:
        return {"type": "array", "items": schema_of(get_args(kind)[0])}
    if NoneType in get_args(kind):
        inner = schema_of(get_args(kind)[0])
        if "$ref" in inner:
            return {"oneOf": [inner, {"type": "null"}]}
        return inner | {"type": [inner["type"], "null"]}
    return PLAIN[kind]


def name_of(kind: Any) -> str:
    """Return the name of a payload's schema in the document."""
    return f"{kind.__name__}Payload"


def parts(kind: Any) -> Iterator[tuple[str, Schema]]:
    """Yield the name and schema of a payload, followed by those of its nested payloads."""
    names = {field.name: camel(field.name) for field in fields(kind)}
    hints = {name: get_type_hints(kind)[name] for name in names}
    yield (
        name_of(kind),
        {
            "type": "object",
            "description": kind.__doc__,
            "properties": {
                outside: with_example(schema_of(hints[name]), f"{name_of(kind)}.{outside}", outside)
                for name, outside in names.items()
            },
            "required": [*names.values()],
        },
    )
    for hint in hints.values():
        for inner in (hint, *get_args(hint)):
            if is_dataclass(inner):
                yield from parts(inner)


def retries() -> str:
    """Use the settings to describe when an attempt fails and when the next one follows."""
    failure = f"With any other status, or none within {settings.WEBHOOK_TIMEOUT:g} seconds,"
    delays = [f"{delay:g}" for delay in settings.WEBHOOK_RETRY_DELAYS]
    if not delays:
        return f"Accepted. {failure} the delivery fails."
    *others, last = delays
    listed = f"{', '.join(others)} and {last}" if others else last
    return f"Accepted. {failure} the delivery is retried after {listed} seconds."


def operation(kind: type[Data]) -> Schema:
    """Return the operation for the request that delivers an event."""
    body = {
        "type": "object",
        "properties": {
            "event": {"type": "string", "const": kind.event.value},
            "data": schema_of(kind),
        },
        "required": ["event", "data"],
    }
    return {
        "operationId": f"receive{capitalized(kind.event)}",
        "summary": str(kind.__doc__).removesuffix("."),
        "tags": ["Events"],
        "security": [],
        "parameters": [
            {
                "name": name,
                "in": "header",
                "required": True,
                "schema": {"type": "string"},
                "description": text,
            }
            for name, text in HEADERS.items()
            if name != "Content-Type"  # this header is declared with the request body
        ],
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": body}},
        },
        "responses": {"2XX": {"description": retries()}},
        "x-open-point": [*kind.open_points, *OPEN_POINTS],
    }


def add_events(result: Schema, **_: Any) -> Schema:
    """Add the webhook requests to the document."""
    schemas = result["components"]["schemas"]
    for kind in KINDS.values():
        schemas.update(parts(kind))
    result["webhooks"] = {event.value: {"post": operation(kind)} for event, kind in KINDS.items()}
    result["components"]["schemas"] = dict(sorted(schemas.items()))
    return result
