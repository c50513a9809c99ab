"""Describe the Idempotency-Key header in the OpenAPI document. Open point: idempotency."""

from typing import Any

from accounts.idempotency import KEY
from config.api.examples import Schema
from config.api.viewsets import IDEMPOTENCY_KEY

PARAMETER = {
    "name": IDEMPOTENCY_KEY,
    "in": "header",
    "required": False,
    "schema": {"type": "string", "pattern": f"^{KEY.pattern}$"},
    "description": "A text of yours that names this request, so that it can be sent again without "
    "being done again: for up to 24 hours the same key and body give the stored answer. Another "
    "body with that key is a 400; while the first one still runs, the second waits for its answer. "
    "Give each new request a new key, or leave the header out.",
}


def add_idempotency_key(result: Schema, **_: Any) -> Schema:
    """Add the header to every POST."""
    parameters = result["components"]["parameters"] | {"IdempotencyKey": PARAMETER}
    result["components"]["parameters"] = dict(sorted(parameters.items()))
    for path in result["paths"].values():
        if "post" in path:
            path["post"]["parameters"].append({"$ref": "#/components/parameters/IdempotencyKey"})
    return result
