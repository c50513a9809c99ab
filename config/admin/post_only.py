"""Make the URLs of buttons accept only POST requests."""

from collections.abc import Callable
from functools import wraps
from typing import Any
from urllib.parse import urljoin

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect


def post_only(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Redirect requests other than POST to the page with the button.

    Such a request comes from the address bar after a form with errors, or from a sign-in page that
    the button led to. The view's URL must be directly below the page's URL.
    """

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **names: Any) -> HttpResponse:
        if request.method != "POST":
            return HttpResponseRedirect(urljoin(request.path, ".."))
        return view(request, *args, **names)

    return guarded
