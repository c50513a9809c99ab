"""Middleware that concerns all requests: ids, addresses, the address limit, hosts, the access log.

Middleware that concerns pages is in `page_middleware`.
"""

import ipaddress
import logging
import re
import time
from collections.abc import Callable, Mapping
from contextvars import copy_context
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponsePermanentRedirect
from django.http.response import HttpResponseBase
from django.middleware.common import CommonMiddleware

from config.api import limits
from config.api.errors import TooManyRequests, plain_response
from config.database.ids import new_id
from config.metrics import Counter, Histogram
from config.runtime.context import Context, current

SANE_ID = re.compile(r"[0-9A-Za-z._-]{1,64}")
logger = logging.getLogger("access")
API = "/api/"
FORWARDED_FOR = re.compile(r"""(?:^|[;,])\s*for=("[^"]*"|[^;,]*)""", re.IGNORECASE)
METHODS = frozenset(("GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"))
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
REQUESTS = Counter(
    "chatbots_requests", "Requests answered, by route and status", ["method", "route", "status"]
)
REQUEST_SECONDS = Histogram(
    "chatbots_request_seconds", "Time to answer a request", ["method", "route"], buckets=SECONDS
)


def trusted(address: str) -> bool:
    """Return whether an address is in TRUSTED_PROXIES."""
    if not settings.TRUSTED_PROXIES:
        return False
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False
    known = getattr(parsed, "ipv4_mapped", None) or parsed
    return any(known in network for network in settings.TRUSTED_PROXIES)


def address_of(hop: str) -> str | None:
    """Return the address of a hop without its port, or None if the hop is not an address."""
    text = hop.strip().strip('"')
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        return None


def hops_of(environ: Mapping[str, Any]) -> list[str]:
    """List the client addresses that proxies report, in order.

    A proxy that sets X-Forwarded-For may pass on the client's own Forwarded header unchanged, and
    vice versa. If both headers are present and differ, neither is trusted.
    """
    given = environ.get("HTTP_X_FORWARDED_FOR", "")
    listed = given.split(",") if given else []
    standard = FORWARDED_FOR.findall(environ.get("HTTP_FORWARDED", ""))
    if listed and standard and [*map(address_of, listed)] != [*map(address_of, standard)]:
        return []
    return listed or standard


def client_address(environ: Mapping[str, Any]) -> str:
    """Return the peer's address or, behind trusted proxies, that of the last untrusted hop."""
    address: str = environ.get("REMOTE_ADDR", "")
    hops = hops_of(environ) if trusted(address) else []
    while hops and trusted(address):
        hop = address_of(hops.pop())
        if hop is None:
            break
        address = hop
    return address


def counted_as(address: str) -> str:
    """Return the key under which an address is counted: for IPv6, the /64 network.

    The key of an IPv4 address, or of an IPv4-mapped IPv6 address, is the IPv4 address.
    """
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv6Address):
        if parsed.ipv4_mapped:
            return str(parsed.ipv4_mapped)
        return str(ipaddress.ip_network((parsed, 64), strict=False))
    return address


def count_request(method: str | None, route: str, status: int, seconds: float) -> None:
    """Count a completed request. `route` is empty if no route matches the path."""
    verb = method if method in METHODS else "other"
    REQUESTS.labels(verb, route or "none", str(status)).inc()
    REQUEST_SECONDS.labels(verb, route or "none").observe(seconds)


def log_access(request: HttpRequest, response: HttpResponseBase, ms: int) -> None:
    """Write a request's line to the access log: status, duration, route and caller.

    Errors are logged even if ACCESS_LOG is off. If the caller is unknown, the line contains the
    client's address.
    """
    status = response.status_code
    quiet = request.path_info in HostMiddleware.PROBES or request.path_info.startswith(
        settings.STATIC_URL
    )
    if status < 400 and (quiet or not settings.ACCESS_LOG):
        return
    known = current.get()
    anonymous = not (known.key or known.user)
    facts = {"status": status, "ms": ms, "route": known.route or f"{request.method} -"}
    facts |= {"address": request.META.get("REMOTE_ADDR", "")} if anonymous else {}
    logger.log(
        logging.WARNING if status >= 400 else logging.INFO,
        "%s: %d in %d ms",
        *(facts["route"], status, ms),
        extra=facts,
    )


class RequestMiddleware:
    """Assign the request's id, trust only known proxies, and limit the API calls of each address.

    Specification: Limits, per IP. The limit is checked before anything else, as soon
    as the body has arrived.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        # Run in a copy of the context, so that all changes to it are discarded after the request.
        return copy_context().run(self.run, request)

    def run(self, request: HttpRequest) -> HttpResponseBase:
        """Respond to a request, then count and log it."""
        given = request.META.get("HTTP_X_REQUEST_ID", "")
        name = given if SANE_ID.fullmatch(given) else new_id().hex
        began = time.perf_counter()
        current.set(Context(request_id=name))
        response = self.answer(request)
        seconds = time.perf_counter() - began
        route = current.get().route.partition(" ")[2]
        count_request(request.method, route, response.status_code, seconds)
        log_access(request, response, round(seconds * 1000))
        response["X-Request-Id"] = name
        return response

    def process_view(self, request: HttpRequest, *_: Any) -> None:
        """Add the route and, in the admin, the signed-in user to the request's context."""
        route = request.resolver_match.route if request.resolver_match else ""
        known = current.get()._replace(route=f"{request.method} /{route}")
        person = getattr(request, "user", None) if route.startswith("admin/") else None
        if person and person.is_authenticated:
            known = known._replace(user=str(person.pk), person=person.pk, via="admin")
        current.set(known)

    def answer(self, request: HttpRequest) -> HttpResponseBase:
        """Find the client's address, count the call if it is for the API, and respond."""
        if trusted(request.META.get("REMOTE_ADDR", "")):
            if request.headers.get("X-Forwarded-Proto") == "https":
                request.META["wsgi.url_scheme"] = "https"
            request.META["REMOTE_ADDR"] = client_address(request.META)
        if request.path_info.startswith(API):
            address = counted_as(request.META.get("REMOTE_ADDR", ""))
            try:
                limits.count(("address", address, settings.RATE_LIMIT_IP))
            except TooManyRequests as refusal:
                return plain_response(refusal)
        return self.get_response(request)


class HostMiddleware(CommonMiddleware):
    """Refuse unknown hosts, except on probe paths.

    The Host header of a probe contains the address of the machine that it checks.

    CommonMiddleware also sets each response's Content-Length, so that the server does not have to
    send the body in chunks.
    """

    PROBES = ("/healthz", "/readyz", "/metrics")

    def process_request(self, request: HttpRequest) -> HttpResponsePermanentRedirect | None:
        """Check the host. Raises DisallowedHost."""
        return None if request.path_info in self.PROBES else super().process_request(request)
