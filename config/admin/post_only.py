"""The URLs of buttons, which accept only POST requests, and the pages behind them."""

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
    vars(guarded)["is_post_only"] = True  # the decorators of the admin's site copy this attribute
    return guarded


def page_behind(address: str) -> str:
    """Return an address that a browser can open: the page's, if this address is a button's.

    A browser shows a button's address if the response to its POST is a page, such as the form with
    its errors.
    """
    path = urlsplit(address).path
    try:
        view = resolve(path).func
    except Resolver404:
        return address
    return urljoin(path, "..") if getattr(view, "is_post_only", False) else address
