"""Middleware: the request's id, the caller's address and its rate limit, the access log."""

import ipaddress
import logging
import re
import time
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from django.conf import settings
from django.core.exceptions import SuspiciousOperation
from django.core.paginator import InvalidPage
from django.http import HttpRequest, HttpResponse, HttpResponsePermanentRedirect
from django.http.response import HttpResponseBase
from django.middleware.common import CommonMiddleware

from config.api import limits
from config.api.body import REFUSAL, declared_length
from config.api.errors import TooManyRequests, bad_request, page_not_found, plain_response
from config.database.ids import new_id
from config.runtime import logs

SANE_ID = re.compile(r"[0-9A-Za-z._-]{1,64}")
logger = logging.getLogger("access")
FORWARDED_FOR = re.compile(r"""(?:^|[;,])\s*for=("[^"]*"|[^;,]*)""", re.IGNORECASE)


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
    """Parse a hop's address, with or without a port; None if it is not an address."""
    text = hop.strip().strip('"')
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        return None


def hops_of(request: HttpRequest) -> list[str]:
    """List the client addresses that proxies report, in order.

    A proxy that sets one of the two headers may pass on the other as the client sent it. If both
    are present and differ, neither is trusted.
    """
    given = request.META.get("HTTP_X_FORWARDED_FOR", "")
    listed = given.split(",") if given else []
    standard = FORWARDED_FOR.findall(request.META.get("HTTP_FORWARDED", ""))
    if listed and standard and [*map(address_of, listed)] != [*map(address_of, standard)]:
        return []
    return listed or standard


def client_address(request: HttpRequest) -> str:
    """Return the caller's address: the peer, or the last hop that is not a trusted proxy."""
    address: str = request.META.get("REMOTE_ADDR", "")
    hops = hops_of(request)
    while hops and trusted(address):
        hop = address_of(hops.pop())
        if hop is None:
            break
        address = hop
    return address


@lru_cache(maxsize=10_000)  # parsing takes ten times as long
def counted_as(address: str) -> str:
    """Return the key that an address is counted under: itself, or its /64 for IPv6."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv6Address):
        if parsed.ipv4_mapped:
            return str(parsed.ipv4_mapped)
        return str(ipaddress.ip_network((parsed, 64), strict=False))
    return address


def log_access(
    request: HttpRequest, response: HttpResponseBase, known: dict[str, str], ms: int
) -> None:
    """Write a request's line to the access log: status, duration, route and caller.

    Errors are logged even without ACCESS_LOG. If the caller is unknown, the line contains the
    address. Anyone can cause such lines, so a flood of them is summed up.
    """
    status = response.status_code
    quiet = request.path_info in HostMiddleware.PROBES or request.path_info.startswith(
        settings.STATIC_URL
    )
    if status < 400 and (quiet or not settings.ACCESS_LOG):
        return
    anonymous = "key" not in known and "user" not in known
    facts = {"status": status, "ms": ms, "route": known.get("route", f"{request.method} -")}
    facts |= {"address": request.META.get("REMOTE_ADDR", "")} if anonymous else {}
    bounded = status == 429 or (status >= 400 and anonymous)
    logger.log(
        logging.WARNING if status >= 400 else logging.INFO,
        "%s: %d in %d ms",
        *(facts["route"], status, ms),
        extra=facts | {"bounded": bounded},
    )


class RequestMiddleware:
    """Assign the request's id, trust only known proxies, and limit each address on /api.

    Specification: Limits, per IP. The limit is checked before anything else.
    """

    COUNTED = ("/api/", "/openapi.json")

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        given = request.headers.get("X-Request-Id", "")
        name = given if SANE_ID.fullmatch(given) else new_id().hex
        began = time.perf_counter()
        with logs.request(name) as known:
            response = self.answer(request)
            log_access(request, response, known, round((time.perf_counter() - began) * 1000))
        response["X-Request-Id"] = name
        return response

    def process_view(self, request: HttpRequest, *_: Any) -> None:
        """Add the route and the admin's user to the request's log lines."""
        route = request.resolver_match.route if request.resolver_match else ""
        logs.note(route=f"{request.method} /{route}")
        if route.startswith("admin/") and (person := getattr(request, "user", None)):
            logs.note(**({"user": str(person.pk)} if person.is_authenticated else {}))

    def answer(self, request: HttpRequest) -> HttpResponseBase:
        """Find the client's address and, on /api, count the call before it is answered."""
        if trusted(request.META.get("REMOTE_ADDR", "")):
            if request.headers.get("X-Forwarded-Proto") == "https":
                request.META["wsgi.url_scheme"] = "https"
            request.META["REMOTE_ADDR"] = client_address(request)
        if request.path_info.startswith(self.COUNTED):
            try:
                address = counted_as(request.META.get("REMOTE_ADDR", ""))
                limits.count("address", address, settings.RATE_LIMIT_IP)
            except TooManyRequests as refusal:
                return plain_response(refusal)
        return self.get_response(request)


class HostMiddleware(CommonMiddleware):
    """Refuse unknown hosts, except for probes, which call a machine by its address.

    CommonMiddleware also sets each response's Content-Length, so that servers need not send it in
    chunks.
    """

    PROBES = ("/healthz", "/readyz", "/metrics")

    def process_request(self, request: HttpRequest) -> HttpResponsePermanentRedirect | None:
        """Check the host. Raises DisallowedHost."""
        return None if request.path_info in self.PROBES else super().process_request(request)


class InputMiddleware:
    """Refuse input that would make views or libraries fail."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if refusal := request.META.get(REFUSAL):
            return plain_response(refusal)
        if not request.path_info.startswith("/api/"):  # the API has rules of its own
            longest = settings.DATA_UPLOAD_MAX_MEMORY_SIZE or 0  # Django's check skips multipart
            if declared_length(request) > longest or "%00" in request.META["QUERY_STRING"]:
                return bad_request(request, SuspiciousOperation())
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """Answer 404 to an invalid page number, which the admin's search does not check."""
        return page_not_found(request, error) if isinstance(error, InvalidPage) else None


class ContentSecurityPolicyMiddleware:
    """Restrict pages to content and scripts that this service serves.

    The admin's scripts compile the expressions in its HTML into functions, hence 'unsafe-eval'.
    Inline scripts never run. JSON needs no policy, because browsers do not run it.
    """

    POLICY = "; ".join(
        (
            "default-src 'self'",
            "script-src 'self' 'unsafe-eval'",
            "style-src 'self' 'unsafe-inline'",
            "img-src 'self' data:",
            "object-src 'none'",
            "base-uri 'self'",
            "form-action 'self'",
            "frame-ancestors 'none'",
        )
    )

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        if response.get("Content-Type", "").startswith("text/html"):
            response["Content-Security-Policy"] = self.POLICY
        return response
