"""Error pages for the admin and for the pages that need no sign-in."""

from collections.abc import Callable

from django.http import HttpRequest
from django.http.response import HttpResponse, HttpResponseBase
from django.template.loader import render_to_string

from config.api.errors import ApiError, plain_response
from config.runtime.context import current

ADMIN = "/admin/"
# other paths, such as the API's, respond with JSON
FOR_PEOPLE = (ADMIN, "/invitation", "/password-reset")


class ErrorPagesMiddleware:
    """Replace error responses for FOR_PEOPLE paths with error pages, unless they already are pages.

    The page needs neither a session nor the database, so it works even when they fail.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        if response.status_code < 400 or not request.path_info.startswith(FOR_PEOPLE):
            return response
        if response.streaming or not isinstance(response, HttpResponse):
            return response
        if response.content and response.get("Content-Type", "").startswith("text/html"):
            return response  # already a page
        context = {
            "status": response.status_code,
            "home": ADMIN if request.path_info.startswith(ADMIN) else "",
            "request_id": current.get().request_id if response.status_code >= 500 else "",
        }
        response.content = render_to_string("admin/error.html", context)
        response["Content-Type"] = "text/html; charset=utf-8"
        response["Content-Length"] = str(len(response.content))  # replaces the JSON body's length
        response["Cache-Control"] = "no-store"
        return response

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """Convert an ApiError to an error response, such as a 404 for an erased row."""
        return plain_response(error) if isinstance(error, ApiError) else None
