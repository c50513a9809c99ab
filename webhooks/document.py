"""Describe events in the OpenAPI document, from their payloads. Specification: Events."""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from datetime import datetime
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints
from uuid import UUID

from config.api.examples import Schema, example
from config.api.naming import camel, capitalised
from webhooks.payloads import KINDS, Data, Event
from webhooks.signing import USER_AGENT

PLAIN: dict[type, Schema] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    UUID: {"type": "string", "format": "uuid"},
    datetime: {"type": "string", "format": "date-time"},
}
OPEN_POINTS = {
    Event.NEW_MESSAGE: ["role"],
    Event.CONVERSATION_ESCALATED: ["escalated-event", "event-strings"],
    Event.NEW_LEAD: ["lead-capture", "event-strings"],
}
FOR_ALL = ["delivery-states", "delivery-config", "plan-webhooks"]
HEADERS = {
    "X-WEBHOOK-TOKEN": "The configured secret.",
    "X-SIGNATURE": "`sha256=` and the lowercase hex of HMAC-SHA256 over the raw body, keyed with "
    "the secret.",
    "User-Agent": USER_AGENT,
}


def schema_of(kind: Any) -> Schema:
    """Return the schema of a payload's type annotation."""
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
    """Yield the named schemas of a payload and of the payloads inside it."""
    hints = get_type_hints(kind)
    names = {field.name: camel(field.name) for field in fields(kind)}
    yield (
        name_of(kind),
        {
            "type": "object",
            "description": kind.__doc__,
            "properties": {outside: schema_of(hints[name]) for name, outside in names.items()},
            "required": [*names.values()],
        },
    )
    for hint in hints.values():
        for inner in (hint, *get_args(hint)):
            if is_dataclass(inner):
                yield from parts(inner)


def operation(kind: type[Data], event: Event, schemas: dict[str, Schema]) -> Schema:
    """Return the operation for the request that delivers an event."""
    body = {
        "type": "object",
        "properties": {
            "event": {"type": "string", "const": event.value},
            "data": schema_of(kind),
        },
        "required": ["event", "data"],
    }
    return {
        "operationId": f"receive{capitalised(event)}",
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
        ],
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": body, "example": example(body, schemas)}},
        },
        "responses": {
            "2XX": {
                "description": "Taken. Another status, or none within 10 seconds, is tried again "
                "after 1, 5 and 25 seconds."
            }
        },
        "x-open-point": [*OPEN_POINTS[event], *FOR_ALL],
    }


def add_events(result: Schema, **_: Any) -> Schema:
    """Add the webhook requests to the document."""
    schemas = result["components"]["schemas"]
    for kind in KINDS:
        schemas.update(parts(kind))
    result["webhooks"] = {
        event.value: {"post": operation(kind, event, schemas)} for kind, event in KINDS.items()
    }
    result["components"]["schemas"] = dict(sorted(schemas.items()))
    return result
