"""Middleware that concerns the content of requests and responses, mostly of pages."""

from collections.abc import Callable

from django.conf import settings
from django.core.exceptions import SuspiciousOperation
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware

from config.api.errors import REFUSAL, bad_request, plain_response
from config.api.strict_json import declared_length
from config.middleware import API


class CompressionMiddleware(GZipMiddleware):
    """Compresses pages and the OpenAPI document.

    Responses with an ETag are not compressed, because that would require a different ETag.
    """

    COMPRESSED = ("text/html", "application/vnd.oai.openapi+json")

    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        """Compress a page or the OpenAPI document if the client accepts compression."""
        kind = response.get("Content-Type", "").partition(";")[0]
        if kind not in self.COMPRESSED or response.has_header("ETag"):
            return response
        return super().process_response(request, response)


def has_nul(request: HttpRequest) -> bool:
    """Return whether the URL or the session cookie contains a NUL, which PostgreSQL rejects."""
    session = request.COOKIES.get(settings.SESSION_COOKIE_NAME, "")
    return "%00" in request.META["QUERY_STRING"] or "\0" in request.path_info + session


class InputMiddleware:
    """Refuse input that would make views or libraries fail."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if refusal := request.META.get(REFUSAL):
            return plain_response(refusal)
        if not request.path_info.startswith(API):  # the API has its own rules
            longest = settings.DATA_UPLOAD_MAX_MEMORY_SIZE or 0  # Django's own check ignores files
            if declared_length(request) > longest or has_nul(request):
                return bad_request(request, SuspiciousOperation())
        return self.get_response(request)


class ContentSecurityPolicyMiddleware:
    """Restrict pages to content and scripts that this service serves.

    Inline scripts never run, and no text is evaluated as a script. Styles may be inline,
    because the admin's theme sets widths and colors that way. JSON needs no policy, because
    browsers do not run it.
    """

    POLICY = (
        "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data:; object-src 'none'; base-uri 'self'; form-action 'self'; "
        "frame-ancestors 'none'"
    )

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        if response.get("Content-Type", "").startswith("text/html"):
            response["Content-Security-Policy"] = self.POLICY
        return response
