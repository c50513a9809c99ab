"""API errors. Only this module builds error bodies.

Specification: Errors, Response envelope.
"""

import logging
import sys
from collections.abc import Iterator
from typing import Any

import orjson
from django.core.exceptions import PermissionDenied, SuspiciousOperation, TooManyFieldsSent
from django.http import Http404, HttpRequest, HttpResponse, UnreadablePostError
from rest_framework import exceptions

from config.database.availability import is_temporary

logger = logging.getLogger(__name__)

Errors = list[dict[str, Any]]
# The request.META key of an ApiError that was raised before Django ran. The middleware reports it.
REFUSAL = "config.refusal"


class ApiError(Exception):
    """An error for the caller, with a status, a message and, if one is documented, a code."""

    status_code = 500
    message = "internal server error"
    code: str | None = None

    def __init__(self, message: str | None = None) -> None:
        self.message = message or self.message
        super().__init__(self.message)

    def body(self) -> dict[str, Any]:
        """Return the response's body."""
        body: dict[str, Any] = {"success": False, "message": self.message}
        return body | ({"code": self.code} if self.code else {})

    def headers(self) -> dict[str, str]:
        """Return the headers that this error adds to the response."""
        return {}


class InvalidRequest(ApiError):
    """An invalid body or query. `errors` lists each fault with its path."""

    status_code, code = 400, "REQUEST_VALIDATION_FAILED"
    message = "request body is not valid"

    def __init__(self, errors: Errors | None = None, message: str | None = None) -> None:
        super().__init__(message)
        self.errors = errors

    @classmethod
    def at(cls, path: list[str], message: str) -> "InvalidRequest":
        """Build an error with a single fault."""
        return cls([{"path": path, "message": message}])

    def body(self) -> dict[str, Any]:
        return super().body() | ({"errors": self.errors} if self.errors is not None else {})


class Refused(InvalidRequest):
    """A well-formed body that breaks a rule. The message states the rule."""

    def __init__(self, message: str) -> None:
        super().__init__(message=message)


class InvalidKey(ApiError):
    """Missing or wrong API key. Specification: Authentication, 4."""

    status_code, code = 401, "API_KEY_NOT_VALID"
    message = "Authorization header does not contain a valid API key"

    def headers(self) -> dict[str, str]:
        return {"WWW-Authenticate": "Bearer"}


class Forbidden(ApiError):
    """The caller is not allowed to do this. Specification: Authentication, 5."""

    status_code, message = 403, "insufficient permissions"


class NotFound(ApiError):
    """The resource that the path names does not exist."""

    status_code, message = 404, "resource not found"


class MethodNotAllowed(ApiError):
    """The path exists, but it does not support the method. The viewset sets the Allow header."""

    status_code, message = 405, "HTTP method not supported"


class TooManyRequests(ApiError):
    """A limit has been reached. Specification: Errors, Bodies, rate limit."""

    status_code, message = 429, "too many requests"

    def __init__(self, *, limit: int, window: int, retry_after: int) -> None:
        super().__init__()
        self.limit, self.window, self.retry_after = limit, window, retry_after

    def body(self) -> dict[str, Any]:
        return super().body() | {
            "retryAfter": self.retry_after,
            "limit": self.limit,
            "remaining": 0,
            "windowSeconds": self.window,
        }

    def headers(self) -> dict[str, str]:
        return {"Retry-After": str(self.retry_after)}


class Unavailable(ApiError):
    """The service is temporarily unavailable. Open point: status-closed."""

    status_code, message = 503, "service unavailable"
    RETRY_AFTER = 1  # seconds that callers are asked to wait before a retry

    def headers(self) -> dict[str, str]:
        return {"Retry-After": str(self.RETRY_AFTER)}


def faults(detail: Any, path: tuple[str, ...] = ()) -> Iterator[dict[str, Any]]:
    """Flatten a serializer's errors into one `{path, message}` per fault."""
    if isinstance(detail, dict):
        for name, inner in detail.items():
            here = path if name == "non_field_errors" else (*path, str(name))
            yield from faults(inner, here)
    elif isinstance(detail, list):
        for index, inner in enumerate(detail):
            nested = isinstance(inner, (dict, list))
            yield from faults(inner, (*path, str(index)) if nested else path)
    else:
        yield {"path": list(path), "message": str(detail)}


def as_api_error(error: Exception) -> ApiError:
    """Translate an exception into an API error, and log it if it is unexpected."""
    match error:
        case ApiError():
            return error
        case exceptions.ValidationError():
            return InvalidRequest(list(faults(error.detail)))
        case Http404() | exceptions.NotFound():
            return NotFound()
        case PermissionDenied() | exceptions.PermissionDenied():
            return Forbidden()
        case exceptions.NotAuthenticated() | exceptions.AuthenticationFailed():
            return InvalidKey()
        case TooManyFieldsSent():
            return InvalidRequest.at([], "Too many parameters")
        case SuspiciousOperation() | UnreadablePostError():
            return InvalidRequest(message="bad request")
        case _ if is_temporary(error):
            return Unavailable()
        case _:
            logger.error("request failed", exc_info=error)
            return ApiError()


def plain_response(error: ApiError) -> HttpResponse:
    """Build the response for an error, with its status, headers and JSON body."""
    return HttpResponse(
        orjson.dumps(error.body()),
        status=error.status_code,
        headers=error.headers(),
        content_type="application/json",
    )


def permission_denied(
    request: HttpRequest, exception: Exception | None = None, reason: str = ""
) -> HttpResponse:
    """Return 403 for a request that a view outside the API refuses, or for a bad CSRF token."""
    return plain_response(Forbidden())


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Return 404 for an unknown path."""
    return plain_response(NotFound())


def server_error(request: HttpRequest) -> HttpResponse:
    """Log an uncaught error, and return 500, or 503 if the database is unavailable."""
    error = sys.exc_info()[1]
    return plain_response(as_api_error(error) if isinstance(error, Exception) else ApiError())


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Return 400 for a request that Django refuses, such as one with a wrong Host header."""
    return plain_response(InvalidRequest(message="bad request"))
