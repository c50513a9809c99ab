"""The web server's entry."""

import gc
import os
from collections.abc import Iterable
from io import BytesIO
from typing import TYPE_CHECKING, Any

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
from config.api.body import MAX_BYTES

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

django = get_wsgi_application()
gc.collect()
gc.freeze()  # what is there now stays: looking through it would halt every request 0.1 s


def application(environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
    """Answer a request; a body that comes in chunks is measured first.

    Without a length Django reads nothing and takes the body for an empty one. No more is read than
    shows that a body is too large; a server that does not mark the body's end is left alone.
    """
    if environ.get("wsgi.input_terminated") and not environ.get("CONTENT_LENGTH"):
        body: Any = environ["wsgi.input"].read(MAX_BYTES + 1)
        environ |= {"wsgi.input": BytesIO(body), "CONTENT_LENGTH": str(len(body))}
    return django(environ, start_response)
