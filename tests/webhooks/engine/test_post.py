import socket
import ssl
import string
import time
from collections.abc import Callable
from functools import partial

import pytest

from config.outbound.failures import Reason
from tests.servers import behaviors as say
from tests.servers import certificates, flooding
from tests.servers import receiver as servers
from tests.servers.behaviors import Behavior
from tests.servers.receiver import Greeting, Receiver
from tests.webhooks.engine.sending import AMPLE, BODY, SECRET, SLACK, send
from webhooks import masking, signing
from webhooks.engine import post as module
from webhooks.engine.post import BODY_KEPT, post

pytestmark = pytest.mark.usefixtures("trusting")
LONG_SECRET = string.ascii_letters + string.digits
TIMEOUT = 1.0  # timeout in seconds for attempts that should time out after sending their request


@pytest.mark.proves("Request headers")
def test_a_receiver_gets_the_exact_bytes_and_the_documented_headers(receiver: Receiver) -> None:
    assert send(receiver.url("/hook?a=b")).success
    [arrival] = receiver.arrivals
    assert (arrival.method, arrival.path, arrival.body) == ("POST", "/hook?a=b", BODY)
    transports = {
        "Host": f"127.0.0.1:{receiver.port}",
        "Accept-Encoding": "identity",
        "Content-Length": str(len(BODY)),
    }
    assert dict(arrival.headers) == signing.headers(BODY, SECRET) | transports
    assert len(arrival.headers) == 7


ACCEPTED = (200, 201, 202, 204, 206, 226, 299)
NOT_ACCEPTED = (300, 304, 400, 401, 404, 410, 429, 500, 503, 599, 600, 999)


@pytest.mark.proves("Delivery rules/1", "Delivery rules")
@pytest.mark.parametrize("status", [*ACCEPTED, *NOT_ACCEPTED])
def test_a_2xx_is_a_success_and_every_other_status_a_failure_with_its_code(
    receiver: Receiver, status: int
) -> None:
    receiver.on("/", say.answer(status, b"why" if status not in (204, 304) else b""))
    outcome = send(receiver.url())
    assert (outcome.success, outcome.response_code, outcome.reason) == (
        status in ACCEPTED,
        status,
        Reason.NONE,
    )


WITHIN_STATUS, WITHIN_HEADERS = b"HTTP/1.1 200 O", b"HTTP/1.1 200 OK\r\nA: b\r\n"


@pytest.mark.proves("Delivery rules/1", "Delivery rules")
@pytest.mark.parametrize(
    ("behavior", "reason"),
    [
        *((say.stall(sent), "TIMEOUT") for sent in (b"", WITHIN_STATUS, WITHIN_HEADERS)),
        *((say.drip_headers(), "TIMEOUT"), (say.drip_header_lines(), "TIMEOUT")),
        *((say.drip_interim(), "TIMEOUT"), (say.answer(delay=600.0), "TIMEOUT")),
        (say.flood_of_interim(), "ANSWER_NOT_UNDERSTOOD"),
        (say.answer(101), "ANSWER_NOT_UNDERSTOOD"),
        (say.endless_headers(), "ANSWER_NOT_UNDERSTOOD"),
        (say.endless_line(), "ANSWER_NOT_UNDERSTOOD"),
        (say.hang_up(b"\x00\xff" * 99 + b"\n"), "ANSWER_NOT_UNDERSTOOD"),
        (say.hang_up(b"HTTP/2 200\r\n\r\n"), "ANSWER_NOT_UNDERSTOOD"),
        (say.hang_up(b"SSH-2.0-OpenSSH\r\n"), "ANSWER_NOT_UNDERSTOOD"),
        *((say.hang_up(), "CONNECTION_CLOSED"), (say.reset(), "CONNECTION_CLOSED")),
        (say.hang_up(WITHIN_STATUS), "CONNECTION_CLOSED"),
        (say.hang_up(WITHIN_HEADERS), "CONNECTION_CLOSED"),
        (say.hang_up(say.head(103)), "CONNECTION_CLOSED"),
    ],
)
def test_a_hostile_receiver_gets_no_success_and_no_extra_time(
    receiver: Receiver, behavior: Behavior, reason: str
) -> None:
    receiver.on("/", behavior)
    timeout = TIMEOUT if reason == "TIMEOUT" else AMPLE
    outcome = send(receiver.url(), timeout=timeout)
    assert (outcome.success, outcome.response_code, outcome.reason) == (False, None, reason)
    assert outcome.response_ms <= (timeout + SLACK) * 1000
    assert len(receiver.arrivals) == 1, "one attempt is one request"


@pytest.mark.parametrize(
    ("greeting", "reason", "doing"),
    [
        (servers.say_nothing, "TIMEOUT", "during the TLS handshake"),
        (servers.half_a_handshake, "TIMEOUT", "during the TLS handshake"),
        (servers.drip_the_handshake, "TIMEOUT", "during the TLS handshake"),
        (servers.hear_nothing, "TIMEOUT", "while waiting for the response"),
        (flooding.flood_the_handshake, "ANSWER_NOT_UNDERSTOOD", "more than 128 KiB"),
        (flooding.flood_the_response, "ANSWER_NOT_UNDERSTOOD", "more than 128 KiB"),
        (servers.hang_up_at_once, "CONNECTION_CLOSED", ""),
        (servers.speak_plainly, "TLS_FAILED", "wrong version number"),
    ],
)
def test_a_receiver_that_never_accepts_a_request_is_cut_off_in_time(
    greeting: Greeting, reason: str, doing: str
) -> None:
    with Receiver(certificates.good(), greeting=greeting) as receiver:
        outcome = send(receiver.url(), timeout=TIMEOUT if reason == "TIMEOUT" else AMPLE)
    assert (outcome.success, outcome.reason) == (False, reason)
    assert doing in outcome.detail


@pytest.mark.proves("Delivery rules")
@pytest.mark.parametrize(
    ("behavior", "waited"),
    [
        (say.stall(say.head(200, length=10)), 0.9),
        (say.stall(say.head(200, length=10) + b"123"), 0.9),
        (say.drip_body(), 0.9),
        (say.hang_up(say.head(200, length=10) + b"123"), 0.0),
        (say.endless_body(), 0.0),
        (say.endless_body(200, "Transfer-Encoding: chunked"), 0.0),  # the chunks are invalid
        *((say.endless_trailers(), 0.0), (say.bomb(), 0.0), (say.early_hints(), 0.0)),
    ],
)
def test_the_status_decides_at_the_end_of_the_headers(
    receiver: Receiver, behavior: Behavior, waited: float
) -> None:
    receiver.on("/", behavior)
    began = time.monotonic()
    outcome = send(receiver.url())
    whole = time.monotonic() - began
    assert (outcome.success, outcome.response_code) == (True, 200)
    assert outcome.response_ms / 1000 <= whole - waited + 0.001, "excludes the wait for the body"
    assert len(outcome.response_body) <= BODY_KEPT


@pytest.mark.proves("Delivery rules")
def test_a_response_with_many_headers_is_a_response(receiver: Receiver) -> None:
    receiver.on("/", say.answer(200, b"", *(f"A{number}: b" for number in range(98))))
    outcome = send(receiver.url())
    assert (outcome.success, outcome.reason) == (True, "")
    assert len(outcome.response_headers) == 99


def test_an_endless_body_is_read_only_up_to_a_limit(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BODY_SECONDS", 60.0)
    receiver.on("/", say.endless_body())
    began = time.monotonic()
    assert send(receiver.url(), timeout=90.0).response_body == b"a" * BODY_KEPT
    assert time.monotonic() - began < 30


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        (b"", b""),
        (b"thank you", b"thank you"),
        (b"a" * BODY_KEPT, b"a" * BODY_KEPT),
        (b"a" * BODY_KEPT + b"b", b"a" * BODY_KEPT),
        (b"\x1f\x8b\x00\xff", b"\x1f\x8b\x00\xff"),
    ],
)
def test_the_beginning_of_a_body_is_stored_as_received(
    receiver: Receiver, sent: bytes, kept: bytes
) -> None:
    receiver.on(
        "/", say.answer(500, sent, "Content-Encoding: gzip", "X-Why: b\x01\xe9", "X-Why: c")
    )
    outcome = send(receiver.url())
    assert outcome.response_body == kept
    assert outcome.response_headers["X-Why"] == "b é, c", "without control characters"
    assert outcome.response_headers["Content-Length"] == str(len(sent))


@pytest.mark.parametrize(
    "behavior",
    [
        say.answer(500, b">" + LONG_SECRET.encode() * 300),  # cut off at the reading limit
        say.hang_up(say.head(500, length=99) + LONG_SECRET[:40].encode()),
    ],
)
def test_a_quoted_secret_is_masked_even_where_the_body_breaks_off(
    receiver: Receiver, behavior: Behavior
) -> None:
    receiver.on("/", behavior)
    outcome = post(
        receiver.url(),
        body=BODY,
        headers=signing.headers(BODY, LONG_SECRET),
        timeout=AMPLE,
        hide=partial(masking.hide, secret=LONG_SECRET),
    )
    assert outcome.response_body.endswith(b"****")
    assert LONG_SECRET[:5].encode() not in outcome.response_body


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("body", [say.answer, say.endless_body])
def test_a_redirect_is_a_response_and_is_not_followed(
    receiver: Receiver, status: int, body: Callable[..., Behavior]
) -> None:
    headers = (f"Location: {receiver.url('/elsewhere')}", "Set-Cookie: a=b")
    receiver.on("/", body(status, b"", *headers) if body is say.answer else body(status, *headers))
    outcome = send(receiver.url())
    assert (outcome.success, outcome.response_code) == (False, status)
    assert send(receiver.url()).response_code == status
    assert [arrival.path for arrival in receiver.arrivals] == ["/", "/"]
    assert receiver.arrivals[1].header("Cookie") is None


@pytest.mark.parametrize(
    ("context", "reason"),
    [
        (certificates.expired, "CERTIFICATE_EXPIRED"),
        (certificates.not_yet_valid, "CERTIFICATE_EXPIRED"),
        (certificates.wrong_name, "CERTIFICATE_NAME"),
        (certificates.untrusted, "CERTIFICATE_NOT_TRUSTED"),
        (certificates.self_signed, "CERTIFICATE_NOT_TRUSTED"),
        (certificates.old, "TLS_FAILED"),
    ],
)
def test_a_bad_certificate_gets_no_request(
    context: Callable[[], ssl.SSLContext], reason: str
) -> None:
    with Receiver(context()) as receiver:
        outcome = send(receiver.url())
        assert (outcome.success, outcome.reason, receiver.arrivals) == (False, reason, [])
        assert outcome.detail


def test_a_closed_port_is_a_refused_connection(receiver: Receiver) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        outcome = send(f"https://127.0.0.1:{unused.getsockname()[1]}/")
    assert outcome.reason == Reason.CONNECTION_REFUSED
