"""The WSGI application: Django behind the gate, with each body received in full beforehand."""

import multiprocessing
import os
import signal

if multiprocessing.parent_process():
    # Until granian handles stop signals, after this module, they end a web process at once.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

import gc
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.core.signals import request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections, reset_queries
from django.http.response import HttpResponseBase
from django.urls import resolve

from config import metrics
from config.api.errors import REFUSAL, Unavailable
from config.bodies import received
from config.content_type import plain_type
from config.database.connections import configure_sessions, release_connection
from config.database.locks import WEB_LOCK_TIMEOUT
from config.middleware import HostMiddleware
from config.runtime.gate import gate_for, reads
from config.runtime.stopping import end_without_parent

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

django: Any = get_wsgi_application()  # Any: the stubs hide that it returns Django's response
INHERITED = tuple(os.environ)  # granian adds the process's environment to each request's


def application(environ: "WSGIEnvironment", start: "StartResponse") -> Iterable[bytes]:
    """Answer a request. Probes pass by the gate, so they answer while all its places are taken."""
    for name in INHERITED:
        environ.pop(name, None)
    if kind := environ.get("CONTENT_TYPE"):
        environ["CONTENT_TYPE"] = plain_type(kind)
    metrics.IN_PROGRESS.inc()
    try:
        if environ["PATH_INFO"] in HostMiddleware.PROBES:
            return respond(environ, start)
        with received(environ) as added, ExitStack() as place:
            try:
                place.enter_context(gate_for(environ["REQUEST_METHOD"]).inside())
            except Unavailable as refusal:
                environ[REFUSAL] = refusal  # InputMiddleware reports it before any view runs
            if not added:
                return respond(environ, start)
            return respond(environ, lambda status, given: start(status, [*given, *added]))
    finally:
        metrics.IN_PROGRESS.dec()


def respond(environ: "WSGIEnvironment", start: Any) -> Iterable[bytes]:
    """Run Django, and return the response's body. Granian sends a list of known length whole."""
    response = django(environ, start)
    if response.streaming and not response.has_header("Content-Length"):
        release_connection()
        return pieces(response)
    try:
        return [b"".join(response)]
    finally:
        response.close()


def pieces(response: HttpResponseBase) -> Iterator[bytes]:
    """Yield a streamed response. While the client reads, the stream only occupies its thread."""
    parts: Iterator[bytes] = iter(response)
    try:
        while True:
            with reads.inside(within=None):  # a response that has begun cannot become a 503
                try:
                    part = next(parts, None)
                finally:
                    release_connection()
            if part is None:
                return
            yield part
    finally:
        response.close()


# Connections have no time limit, and are closed or given back at the end of each request.
request_started.disconnect(reset_queries)
request_started.disconnect(close_old_connections)
configure_sessions(lock_timeout=WEB_LOCK_TIMEOUT)
metrics.watch_pool()
metrics.WEB_THREADS.set(settings.WEB_THREADS)
resolve("/")  # imports all views and the admin now, not during the first request
gc.collect()
gc.freeze()  # startup objects are never freed, and scanning them would pause all requests for 0.1 s
end_without_parent()
