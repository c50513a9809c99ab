"""One POST to a receiver under one deadline; whatever the receiver does, an outcome comes back."""

import time
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from functools import cache

import requests
from django.conf import settings

from config.outbound.deadline import within
from config.outbound.failures import FAILURES, Reason, clean, explain, is_shortage
from config.outbound.transport import pieces, session
from webhooks.engine.guard import check_url, judge

BODY_SECONDS = 1.0  # the verdict stands by then; the body is only for people to read
BODY_READ = 16 * 1024  # a longer body costs its connection
BODY_KEPT = 4 * 1024


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one attempt: an answer with its code, or a reason why there is none.

    `response_ms` lasts until the end of the answer's headers, or until it failed. Headers are
    clean lines; the body is the beginning of what came, as it came.
    """

    response_ms: int
    response_code: int | None = None
    reason: Reason = Reason.NONE
    detail: str = ""
    response_headers: dict[str, str] = field(default_factory=dict)
    response_body: bytes = b""

    @property
    def success(self) -> bool:
        """Whether the receiver took it. Specification: Delivery rules, 1."""
        return self.response_code is not None and 200 <= self.response_code < 300


def post(
    url: str,
    *,
    body: bytes,
    headers: Mapping[str, str],
    timeout: float,
    hide: Callable[[str], str] = str,
) -> Outcome:
    """Send the body as it is, once; all of it ends within `timeout` seconds.

    `hide` masks what the outcome must not hold, also where a text ends within it: some receivers
    quote the request that came. Raises what `is_shortage` recognises where this machine, not the
    receiver, could not make the exchange.
    """
    began = time.monotonic()
    try:
        check_url(url)
    except ValueError as error:
        return Outcome(_ms_since(began), reason=Reason.URL_NOT_ALLOWED, detail=str(error))
    sender = _session(settings.WEBHOOK_CA_BUNDLE)
    with within(timeout):
        try:
            response = sender.post(url, data=body, headers=headers, stream=True)
        except FAILURES as error:
            if is_shortage(error):
                raise
            reason, detail = explain(error)
            return Outcome(_ms_since(began), reason=reason, detail=hide(detail))
        answered = _ms_since(began)
        with closing(response):
            return Outcome(
                answered,
                response.status_code,
                response_headers=_headers(response, hide),
                response_body=_beginning(response, hide),
            )


@cache
def _session(ca_bundle: str | None) -> requests.Session:
    return session(judge=judge, ca_bundle=ca_bundle)


def _ms_since(began: float) -> int:
    return round((time.monotonic() - began) * 1000)


def _headers(response: requests.Response, hide: Callable[[str], str]) -> dict[str, str]:
    return {
        clean(hide(name), 100): clean(hide(value), 1_000)
        for name, value in response.headers.items()
    }


def _beginning(response: requests.Response, hide: Callable[[str], str]) -> bytes:
    read = b""
    # The verdict is spoken: what came until it fails is all that is to be had.
    with suppress(*FAILURES), within(BODY_SECONDS):
        for piece in pieces(response, most=BODY_READ):
            read += piece
    return hide(read.decode("latin-1")).encode("latin-1")[:BODY_KEPT]  # the same bytes, else
