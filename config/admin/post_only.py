"""Make the URLs of buttons accept only POST requests, and find the page of each button."""

from collections.abc import Callable
from typing import TypeVar
from urllib.parse import urljoin, urlsplit

from django.http import HttpResponse
from django.urls import Resolver404, resolve
from django.views.decorators.http import require_POST

ViewT = TypeVar("ViewT", bound=Callable[..., HttpResponse])


def post_only(view: ViewT) -> ViewT:
    """Accept only POST requests, and mark the view for `page_behind`.

    The view's URL must be directly below the URL of the page with the button.
    """
    guarded = require_POST(view)
    vars(guarded)["is_post_only"] = True  # the admin site's decorators copy this attribute
    return guarded


def page_behind(address: str) -> str:
    """Replace a button's URL with that of the button's page. Returns other URLs unchanged.

    If the response to a button's POST request is a page, such as a form with errors, the browser's
    address bar shows the button's URL. However, that URL does not accept GET requests.
    """
    path = urlsplit(address).path
    try:
        view = resolve(path).func
    except Resolver404:
        return address
    return urljoin(path, "..") if getattr(view, "is_post_only", False) else address
