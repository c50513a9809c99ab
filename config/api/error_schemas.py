"""Error bodies in the OpenAPI document. Their examples come from the error classes.

Specification: Errors, Response envelope.
"""

from typing import Any, NamedTuple

from config.api.errors import (
    ApiError,
    Forbidden,
    InvalidKey,
    InvalidRequest,
    NotFound,
    TooManyRequests,
)

Schema = dict[str, Any]

REQUEST_ID_HEADER = {
    "description": "The request's id: the one that the caller sent, or a new one.",
    "schema": {"type": "string"},
}
FAULT: Schema = {
    "type": "object",
    "description": "One fault in a body or query.",
    "properties": {
        "path": {
            "type": "array",
            "items": {"type": "string"},
            "description": "The field names and list positions that locate the fault; empty "
            "if it concerns the whole body.",
        },
        "message": {"type": "string"},
    },
    "required": ["path", "message"],
}
LIMIT: Schema = {
    "retryAfter": {
        "type": "integer",
        "minimum": 1,
        "description": "Seconds to wait before a retry.",
    },
    "limit": {
        "type": "integer",
        "minimum": 0,
        "description": "The number of requests allowed in the window.",
    },
    "remaining": {
        "type": "integer",
        "minimum": 0,
        "description": "The number of requests left in the window.",
    },
    "windowSeconds": {"type": "integer", "minimum": 1},
}


def codes(kind: type[ApiError] = ApiError) -> set[str]:
    """Return the codes of an error class and of all its imported subclasses."""
    below = (codes(each) for each in kind.__subclasses__())
    return set().union({kind.code} if kind.code else set(), *below)


def error_schema(description: str, **more: Schema) -> Schema:
    """Build the schema of an error's body. All properties but `code` and `errors` are required."""
    optional = {"code", "errors"}
    base: Schema = {
        "success": {"type": "boolean", "const": False},
        "message": {"type": "string", "description": "A human-readable text."},
        "code": {
            "type": "string",
            "description": "A machine-readable code, sent with only some errors. One of: "
            f"{', '.join(sorted(codes()))}.",
            "x-open-point": ["code-field", "code-status"],
        },
    }
    properties = base | more
    return {
        "type": "object",
        "description": description,
        "properties": properties,
        "required": [name for name in properties if name not in optional],
    }


def schemas() -> dict[str, Schema]:
    """Return the schemas of all error bodies, by name.

    Call this only after all views have been imported, because the views import all error classes.
    """
    return {
        "Error": error_schema("An error response."),
        "Fault": FAULT,
        "ValidationError": error_schema(
            "The invalid parts of a body or query. `errors` is absent if the message suffices.",
            errors={"type": "array", "items": {"$ref": "#/components/schemas/Fault"}},
        ),
        "RateLimited": error_schema("A limit has been reached.", **LIMIT),
    }


class ErrorAnswer(NamedTuple):
    """An error that many operations can return, with its schema and an example."""

    name: str
    schema: str
    description: str
    shown: ApiError

    def document(self) -> Schema:
        """Return the error as an OpenAPI response."""
        request_id = {"X-Request-Id": {"$ref": "#/components/headers/RequestId"}}
        own = {
            name: {"required": True, "schema": {"type": "string"}, "example": value}
            for name, value in self.shown.headers().items()
        }
        media = {
            "schema": {"$ref": f"#/components/schemas/{self.schema}"},
            "example": self.shown.body(),
        }
        return {
            "description": self.description,
            "headers": request_id | own,
            "content": {"application/json": media},
        }


RESPONSES: dict[int, ErrorAnswer] = {
    400: ErrorAnswer(
        "InvalidRequest",
        "ValidationError",
        "Invalid parameters or body.",
        InvalidRequest.at(["name"], "Required"),
    ),
    401: ErrorAnswer("InvalidKey", "Error", "Missing or invalid API key.", InvalidKey()),
    403: ErrorAnswer("Forbidden", "Error", "Insufficient permissions.", Forbidden()),
    404: ErrorAnswer("NotFound", "Error", "Resource does not exist.", NotFound()),
    429: ErrorAnswer(
        "TooManyRequests",
        "RateLimited",
        "A rate limit or a monthly message quota was exceeded.",
        TooManyRequests(limit=500, window=60, retry_after=17),
    ),
    500: ErrorAnswer("ServerError", "Error", "Server error.", ApiError()),
}
