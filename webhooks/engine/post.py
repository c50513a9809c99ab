"""Make one POST request within a deadline. Failures of the receiver are returned, not raised."""

import time
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from functools import cache

import requests
from django.conf import settings

from config.outbound.deadline import within
from config.outbound.failures import FAILURES, Reason, clean, explain
from config.outbound.transport import Adapter, pieces
from webhooks.guard import check_url, judge

BODY_SECONDS = 1.0  # maximum time in seconds for reading a response body, which is only displayed
# Maximum number of bytes to read. If a response body is longer, the connection is closed.
BODY_READ = 16 * 1024
BODY_KEPT = 4 * 1024  # maximum number of bytes of a response body that the attempt stores


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one attempt: a response with its code, or the reason why there was none.

    `response_ms` is the time until the end of the response's headers, or until the failure. Each
    header is one line of printable characters. `response_body` is the beginning of the body,
    unchanged except that the secret is masked.
    """

    response_ms: int
    response_code: int | None = None
    reason: Reason = Reason.NONE
    detail: str = ""
    response_headers: dict[str, str] = field(default_factory=dict)
    response_body: bytes = b""

    @property
    def success(self) -> bool:
        """Whether the receiver accepted the event. Specification: Delivery rules, 1."""
        return self.response_code is not None and 200 <= self.response_code < 300


def post(
    url: str,
    *,
    body: bytes,
    headers: Mapping[str, str],
    timeout: float,
    hide: Callable[[str], str] = str,
) -> Outcome:
    """Post the body unchanged, and return the outcome within `timeout` seconds.

    `hide` masks the secret in every string of the outcome, because some receivers echo the request.
    """
    began = time.monotonic()
    try:
        check_url(url)
    except ValueError as error:
        return Outcome(_ms_since(began), reason=Reason.URL_NOT_ALLOWED, detail=str(error))
    adapter = _adapter(settings.WEBHOOK_CA_BUNDLE)
    with within(timeout):
        try:
            response = adapter.post(url, body=body, headers=headers)
        except FAILURES as error:
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
def _adapter(ca_bundle: str | None) -> Adapter:
    return Adapter(judge=judge, ca_bundle=ca_bundle)


def _ms_since(began: float) -> int:
    return round((time.monotonic() - began) * 1000)


def _headers(response: requests.Response, hide: Callable[[str], str]) -> dict[str, str]:
    return {
        clean(hide(name), 100): clean(hide(value), 1_000)
        for name, value in response.headers.items()
    }


def _beginning(response: requests.Response, hide: Callable[[str], str]) -> bytes:
    read = b""
    # The status code determines the outcome, so a partial body is fine.
    with suppress(*FAILURES), within(BODY_SECONDS):
        for piece in pieces(response, most=BODY_READ):
            read += piece
    return hide(read.decode("latin-1")).encode("latin-1")[:BODY_KEPT]  # latin-1 keeps every byte
