"""Map errors from sending requests and reading responses to a fixed set of reasons."""

import errno
import http.client
import socket
import ssl
from typing import NamedTuple

from django.db.models import TextChoices
from requests.exceptions import InvalidSchema, InvalidURL, MissingSchema, RequestException
from urllib3.exceptions import HTTPError, LocationValueError

DETAIL_LENGTH = 200
MOST_CODE = 999  # the highest status code that a response can have


class Reason(TextChoices):
    """The reasons for a missing response, and their labels. NONE means a response was received."""

    NONE = "", ""
    TIMEOUT = "TIMEOUT", "timeout"
    URL_NOT_ALLOWED = "URL_NOT_ALLOWED", "URL not allowed"
    NAME_NOT_FOUND = "NAME_NOT_FOUND", "DNS lookup failed"
    NAME_LOOK_UP_FAILED = "NAME_LOOK_UP_FAILED", "DNS lookup failed temporarily"
    ADDRESS_NOT_ALLOWED = "ADDRESS_NOT_ALLOWED", "address not allowed"
    NOT_REACHABLE = "NOT_REACHABLE", "host not reachable"
    CONNECTION_REFUSED = "CONNECTION_REFUSED", "connection refused"
    CONNECTION_CLOSED = "CONNECTION_CLOSED", "connection closed"
    CONNECTION_FAILED = "CONNECTION_FAILED", "connection failed"
    CERTIFICATE_EXPIRED = "CERTIFICATE_EXPIRED", "certificate expired"
    CERTIFICATE_NAME = "CERTIFICATE_NAME", "certificate does not match the name"
    CERTIFICATE_NOT_TRUSTED = "CERTIFICATE_NOT_TRUSTED", "certificate not trusted"
    TLS_FAILED = "TLS_FAILED", "TLS failed"
    ANSWER_NOT_UNDERSTOOD = "ANSWER_NOT_UNDERSTOOD", "invalid response"


class AddressNotAllowed(Exception):
    """Raised by a `judge` function to refuse a connection to an address."""


class Failure(NamedTuple):
    """A reason and a detail. The detail is one printable line without a URL, and may be empty."""

    reason: Reason
    detail: str


# The errors that sending a request or reading its response may raise.
FAILURES = (OSError, HTTPError, http.client.HTTPException, AddressNotAllowed)

# The first match applies, so narrower types come before wider ones.
REASONS: tuple[tuple[type[Exception], Reason], ...] = (
    (AddressNotAllowed, Reason.ADDRESS_NOT_ALLOWED),
    (TimeoutError, Reason.TIMEOUT),
    (socket.gaierror, Reason.NAME_LOOK_UP_FAILED),
    (ssl.SSLCertVerificationError, Reason.CERTIFICATE_NOT_TRUSTED),
    (ssl.SSLEOFError, Reason.CONNECTION_CLOSED),
    (ssl.SSLZeroReturnError, Reason.CONNECTION_CLOSED),
    (ssl.SSLError, Reason.TLS_FAILED),
    (ConnectionRefusedError, Reason.CONNECTION_REFUSED),
    (ConnectionError, Reason.CONNECTION_CLOSED),
    (http.client.IncompleteRead, Reason.CONNECTION_CLOSED),
    (http.client.HTTPException, Reason.ANSWER_NOT_UNDERSTOOD),
    (InvalidURL, Reason.URL_NOT_ALLOWED),
    (InvalidSchema, Reason.URL_NOT_ALLOWED),
    (MissingSchema, Reason.URL_NOT_ALLOWED),
    (LocationValueError, Reason.URL_NOT_ALLOWED),
    (HTTPError, Reason.ANSWER_NOT_UNDERSTOOD),
)
BY_ERRNO = {
    socket.EAI_NONAME: Reason.NAME_NOT_FOUND,
    socket.EAI_NODATA: Reason.NAME_NOT_FOUND,
    errno.ENETUNREACH: Reason.NOT_REACHABLE,
    errno.ENETDOWN: Reason.NOT_REACHABLE,
    errno.EHOSTUNREACH: Reason.NOT_REACHABLE,
    errno.EADDRNOTAVAIL: Reason.NOT_REACHABLE,
}
BY_VERIFY_CODE = {  # OpenSSL's X509_V_ERR_…
    9: Reason.CERTIFICATE_EXPIRED,  # CERT_NOT_YET_VALID, which has no reason of its own
    10: Reason.CERTIFICATE_EXPIRED,  # CERT_HAS_EXPIRED
    62: Reason.CERTIFICATE_NAME,  # HOSTNAME_MISMATCH
    64: Reason.CERTIFICATE_NAME,  # IP_ADDRESS_MISMATCH
}


def class_of(code: int) -> int:
    """Return the class of a response's status code: its first digit, but at most 5.

    Codes above 599, which HTTP does not define, count as 5xx (RFC 9110, section 15).
    """
    return min(code // 100, 5)


def explain(error: Exception) -> Failure:
    """Return the reason and detail of an error in FAILURES."""
    root = _root(error)
    return Failure(_reason(root), clean(_words(root), DETAIL_LENGTH))


def clean(text: str, length: int) -> str:
    """Reduce a peer's text to one line of at most `length` printable characters."""
    return "".join(char if char.isprintable() else " " for char in text[:length]).strip()


def _root(error: BaseException) -> BaseException:
    """Return the original error, which requests and urllib3 may have wrapped in other errors."""
    while isinstance(error, (RequestException, HTTPError)):
        wrapped = (error.__cause__, *error.args)
        inner = next((part for part in wrapped if isinstance(part, Exception)), None)
        if inner is None:
            return error
        error = inner
    return error


def _reason(root: BaseException) -> Reason:
    if isinstance(root, ssl.SSLCertVerificationError) and root.verify_code in BY_VERIFY_CODE:
        return BY_VERIFY_CODE[root.verify_code]
    if isinstance(root, OSError) and root.errno in BY_ERRNO:
        return BY_ERRNO[root.errno]
    fitting = (reason for kind, reason in REASONS if isinstance(root, kind))
    return next(fitting, Reason.CONNECTION_FAILED)


def _words(root: BaseException) -> str:
    """Describe an error without quoting the URL, which may contain a token."""
    if isinstance(root, ssl.SSLCertVerificationError):
        return root.verify_message
    if isinstance(root, ssl.SSLError):
        # Some SSLErrors come from Python itself, not from OpenSSL, and may have no `reason`.
        return str(getattr(root, "reason", None) or "").replace("_", " ").lower()
    if isinstance(root, OSError) and root.strerror:
        return root.strerror
    # Error messages from requests and urllib3 quote the URL, which may contain a token.
    return "" if isinstance(root, (RequestException, HTTPError)) else str(root)
