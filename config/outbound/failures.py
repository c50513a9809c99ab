"""Why no answer came: what an exchange raises, put into a closed set of reasons."""

import errno
import http.client
import os
import socket
import ssl
from enum import StrEnum
from typing import NamedTuple

from requests.exceptions import InvalidSchema, InvalidURL, MissingSchema, RequestException
from urllib3.exceptions import HTTPError

DETAIL_LENGTH = 200


class Reason(StrEnum):
    """Why no answer came, in words for people; empty where one came."""

    NONE = ""
    TIMEOUT = "timeout"
    URL_NOT_ALLOWED = "URL not allowed"
    NAME_NOT_FOUND = "name not found"
    NAME_LOOK_UP_FAILED = "name look-up failed"
    ADDRESS_NOT_ALLOWED = "address not allowed"
    NOT_REACHABLE = "host not reachable"
    CONNECTION_REFUSED = "connection refused"
    CONNECTION_CLOSED = "connection closed"
    CONNECTION_FAILED = "connection failed"
    CERTIFICATE_EXPIRED = "certificate expired"
    CERTIFICATE_NAME = "certificate does not match the name"
    CERTIFICATE_NOT_TRUSTED = "certificate not trusted"
    TLS_FAILED = "TLS failed"
    ANSWER_NOT_UNDERSTOOD = "answer not understood"


class AddressNotAllowed(Exception):
    """Raised by a judge of addresses for one that must not be connected to."""


class Failure(NamedTuple):
    """A reason, and what is known beyond it: one clean line, maybe empty, without any URL."""

    reason: Reason
    detail: str


# What sending and reading raise when the peer, or the way to it, is at fault.
FAILURES = (OSError, HTTPError, http.client.HTTPException, AddressNotAllowed)

# The first that fits counts, so the narrower types stand above the wider.
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
    9: Reason.CERTIFICATE_EXPIRED,  # CERT_NOT_YET_VALID; the detail says which
    10: Reason.CERTIFICATE_EXPIRED,  # CERT_HAS_EXPIRED
    62: Reason.CERTIFICATE_NAME,  # HOSTNAME_MISMATCH
    64: Reason.CERTIFICATE_NAME,  # IP_ADDRESS_MISMATCH
}


# This machine, not the peer, is at fault: no file descriptor, no memory, no buffer.
SHORTAGES = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS})
LOOK_UP_DESCRIPTORS = 8  # more than one look-up opens


def is_shortage(error: BaseException) -> bool:
    """Say whether an exchange failed because this machine ran out of something it needs for one.

    Such a failure says nothing about the peer. Every error that this one wraps counts: causes,
    contexts, and what urllib3 and requests keep in their arguments.
    """
    seen: set[int] = set()
    pending: list[object] = [error]
    while pending:
        one = pending.pop()
        if not isinstance(one, BaseException) or id(one) in seen:
            continue
        seen.add(id(one))
        if _lacks_resources(one):
            return True
        pending += [one.__cause__, one.__context__, getattr(one, "reason", None), *one.args]
    return False


def _lacks_resources(error: BaseException) -> bool:
    if isinstance(error, socket.gaierror):  # its numbers are not those of other errors
        return error.errno == socket.EAI_MEMORY or _lacks_descriptors()
    if isinstance(error, OSError):
        return error.errno in SHORTAGES
    no_thread = isinstance(error, RuntimeError) and "can't start new thread" in error.args
    return no_thread or isinstance(error, MemoryError)


def _lacks_descriptors() -> bool:
    # Without a free descriptor getaddrinfo says that the name does not exist. Other threads open
    # and close some meanwhile, so a few must be free for its answer to be believed.
    opened: list[int] = []
    try:
        opened.extend(os.open(os.devnull, os.O_RDONLY) for _ in range(LOOK_UP_DESCRIPTORS))
    except OSError:
        return True
    finally:
        for descriptor in opened:
            os.close(descriptor)
    return False


def explain(error: Exception) -> Failure:
    """Say why an exchange failed that raised one of FAILURES."""
    root = _root(error)
    return Failure(_reason(root), clean(_words(root), DETAIL_LENGTH))


def clean(text: str, length: int) -> str:
    """Make one storable line of a peer's words: printable characters only, so many at most."""
    return "".join(char if char.isprintable() else " " for char in text[:length]).strip()


def _root(error: BaseException) -> BaseException:
    """Take off what requests and urllib3 wrapped around it."""
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
    if isinstance(root, ssl.SSLCertVerificationError):
        return root.verify_message
    if isinstance(root, ssl.SSLError):
        # those that OpenSSL did not raise, Python itself did, and some of them lack a reason
        return str(getattr(root, "reason", None) or "").replace("_", " ").lower()
    if isinstance(root, OSError) and root.strerror:
        return root.strerror
    # the texts of other wrappers quote the URL, which may hold a token
    return "" if isinstance(root, (RequestException, HTTPError)) else str(root)
