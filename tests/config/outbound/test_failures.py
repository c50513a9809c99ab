import errno
import http.client
import os
import socket
import ssl
from collections.abc import Callable

import pytest
import requests
import urllib3

from config.outbound.failures import (
    FAILURES,
    AddressNotAllowed,
    Reason,
    class_of,
    explain,
)

URL = "https://hooks.example.com/?token=geheim"


def os_error(number: int) -> OSError:
    return OSError(number, os.strerror(number))


def wrapped(error: Exception) -> Exception:
    """Wrap an error as requests and urllib3 do."""
    pool = urllib3.HTTPSConnectionPool("hooks.example.com")
    aborted = urllib3.exceptions.ProtocolError("Connection aborted.", error)
    retried = urllib3.exceptions.MaxRetryError(pool, URL, aborted)
    retried.__cause__ = aborted
    return requests.exceptions.ConnectionError(retried)


@pytest.mark.parametrize("through", [lambda error: error, wrapped])
@pytest.mark.parametrize(
    ("error", "reason", "detail"),
    [
        (TimeoutError("while sending"), Reason.TIMEOUT, "while sending"),
        (os_error(errno.ETIMEDOUT), Reason.TIMEOUT, "Connection timed out"),
        (
            AddressNotAllowed("10.0.0.1 is private"),
            Reason.ADDRESS_NOT_ALLOWED,
            "10.0.0.1 is private",
        ),
        (socket.gaierror(socket.EAI_NONAME, "unknown"), Reason.NAME_NOT_FOUND, "unknown"),
        (socket.gaierror(socket.EAI_FAIL, "broken"), Reason.NAME_LOOK_UP_FAILED, "broken"),
        (os_error(errno.ECONNREFUSED), Reason.CONNECTION_REFUSED, "Connection refused"),
        (os_error(errno.ECONNRESET), Reason.CONNECTION_CLOSED, "Connection reset by peer"),
        (os_error(errno.EPIPE), Reason.CONNECTION_CLOSED, "Broken pipe"),
        (os_error(errno.ENETUNREACH), Reason.NOT_REACHABLE, "Network is unreachable"),
        (os_error(errno.EHOSTUNREACH), Reason.NOT_REACHABLE, "No route to host"),
        (os_error(errno.EMFILE), Reason.CONNECTION_FAILED, "Too many open files"),
        (OSError("there is no address"), Reason.CONNECTION_FAILED, "there is no address"),
        (ssl.SSLEOFError(8, "EOF"), Reason.CONNECTION_CLOSED, ""),
        (ssl.SSLError(1, "alert"), Reason.TLS_FAILED, ""),
        (http.client.RemoteDisconnected("gone"), Reason.CONNECTION_CLOSED, "gone"),
        (http.client.IncompleteRead(b"ab", 3), Reason.CONNECTION_CLOSED, "IncompleteRead"),
        (http.client.BadStatusLine("SSH\r\n\0"), Reason.ANSWER_NOT_UNDERSTOOD, "SSH"),
        (http.client.LineTooLong("header line"), Reason.ANSWER_NOT_UNDERSTOOD, "header line"),
        (urllib3.exceptions.InvalidHeader(URL), Reason.ANSWER_NOT_UNDERSTOOD, ""),
    ],
)
def test_a_failure_has_one_reason_however_it_is_wrapped(
    through: Callable[[Exception], Exception], error: Exception, reason: Reason, detail: str
) -> None:
    failure = explain(through(error))
    assert failure.reason == reason
    assert detail in failure.detail


@pytest.mark.parametrize(
    "error",
    [
        requests.exceptions.InvalidURL(URL),
        requests.exceptions.MissingSchema(URL),
        requests.exceptions.InvalidSchema(URL),
        urllib3.exceptions.InvalidHeader(URL),
        wrapped(OSError()),
    ],
)
def test_no_detail_contains_a_url(error: Exception) -> None:
    assert "geheim" not in explain(error).detail


def test_a_detail_is_one_short_line_whatever_the_peer_sends() -> None:
    error = http.client.BadStatusLine("a\0b\r\nc\u2028" + "d" * 70_000)
    assert explain(error) == (Reason.ANSWER_NOT_UNDERSTOOD, explain(error).detail)
    assert explain(error).detail.isprintable()
    assert len(explain(error).detail) <= 200


def test_every_reason_except_none_has_a_label() -> None:
    assert [reason for reason in Reason if not reason.label] == [Reason.NONE]
    assert issubclass(requests.exceptions.RequestException, FAILURES)


@pytest.mark.parametrize(
    ("code", "its_class"), [(200, 2), (399, 3), (400, 4), (599, 5), (600, 5), (999, 5)]
)
def test_a_status_code_that_http_does_not_define_counts_as_a_server_error(
    code: int, its_class: int
) -> None:
    assert class_of(code) == its_class
