"""Describe the Idempotency-Key header in the OpenAPI document. Open point: idempotency."""

from typing import Any

from accounts.idempotency import HEADER, KEY
from config.api.schema import Schema

PARAMETER = {
    "name": HEADER,
    "in": "header",
    "required": False,
    "schema": {"type": "string", "pattern": f"^{KEY.pattern}$"},
    "description": "A value of your choice that identifies this request, so that you can safely "
    "send it again. For up to 24 hours, a request with the same key and body returns the stored "
    "response and is not carried out again. The same key with a different body is rejected with "
    "400. While the first request is still running, a repeated request waits for its response. Use "
    "a new key for each new request, or leave the header out.",
}


def add_idempotency_key(result: Schema, **_: Any) -> Schema:
    """Add the Idempotency-Key header to every POST operation."""
    parameters = result["components"]["parameters"] | {"IdempotencyKey": PARAMETER}
    result["components"]["parameters"] = dict(sorted(parameters.items()))
    for path in result["paths"].values():
        if "post" in path:
            path["post"]["parameters"].append({"$ref": "#/components/parameters/IdempotencyKey"})
    return result
