"""Django's middleware for pages. The API has no cookies, so its requests pass by.

These are subclasses, so Django's system checks find them.
"""

from collections.abc import Awaitable

from django.contrib.auth import middleware as auth
from django.contrib.messages import middleware as messages
from django.contrib.sessions import middleware as sessions
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.deprecation import MiddlewareMixin

API = "/api/"


class PagesOnly(MiddlewareMixin):
    """Handles pages, and passes the requests of the API on."""

    def __call__(self, request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        if request.path_info.startswith(API):
            return self.get_response(request)
        return super().__call__(request)


class SessionMiddleware(PagesOnly, sessions.SessionMiddleware):
    """Gives requests for pages a session."""


class AuthenticationMiddleware(PagesOnly, auth.AuthenticationMiddleware):
    """Sets the user of each request for a page."""


class MessageMiddleware(PagesOnly, messages.MessageMiddleware):
    """Gives requests for pages the messages that earlier ones left."""
