"""Django receives only complete requests, however slowly or oddly clients send them."""

import json
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
from django.contrib.staticfiles import finders

from chatbots.models import Chatbot, ConversationStarter
from config.api.body import MAX_BYTES
from tests.config.imported_settings import run
from tests.conftest import Api
from tests.servers.processes import Web
from tests.servers.raw import Raw, as_json

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.proves("HTTP statuses/400")]

TIMEOUT = 4  # seconds; in these tests, a body must arrive within this time
LONGER = 30  # seconds; for the test that waits up to 15 seconds for each of ten responses
SLOW = 600  # number of clients that send slowly


def server(timeout: int) -> Web:
    """Return a web server without rate limits. Bodies must arrive within the timeout."""
    limits = {"RATE_LIMIT_IP": "off", "RATE_LIMIT_USER": "off"}
    return Web(WEB_WORKERS="1", TEST_BODY_TIMEOUT=str(timeout), **limits)


@pytest.fixture(scope="module")
def web(django_db_setup: None) -> Iterator[Web]:
    with server(TIMEOUT) as web:
        yield web


@pytest.fixture
def longer_web() -> Iterator[Web]:
    with server(LONGER) as web:
        yield web


@pytest.fixture
def starters(api: Api, chatbot: Any) -> str:
    return f"POST /api/v1/chatbots/chatbot/{chatbot.pk}/conversation-starters"


def in_chunks(raw: bytes) -> bytes:
    return b"%x\r\n%s\r\n0\r\n\r\n" % (len(raw), raw)


@pytest.mark.slow
def test_a_body_without_a_length_is_read_up_to_the_limit(web: Web, api: Api, starters: str) -> None:
    too_long = b'{"a":"' + b"x" * MAX_BYTES + b'"}'
    with Raw(web) as raw:
        for body in (b'{"text": "in chunks"}', too_long):
            raw.send(starters, *as_json(api), "Transfer-Encoding: chunked", body=in_chunks(body))
        status, _, told = raw.response()
        assert (status, json.loads(told)["data"]["text"]) == (200, "in chunks")
        status, _, told = raw.response()
    assert status == 400
    assert json.loads(told)["errors"] == [{"path": [], "message": f"Larger than {MAX_BYTES} bytes"}]


@pytest.mark.parametrize(
    "cut_off",
    [
        pytest.param(lambda text: b"%x\r\n%s\r\n" % (len(text), text), id="between chunks"),
        pytest.param(lambda text: b"%x\r\n%s" % (len(text) + 9, text), id="within a chunk"),
        pytest.param(lambda text: b"%x\r\n%s\r\nzz\r\n" % (len(text), text), id="malformed"),
        pytest.param(lambda text: in_chunks(text)[:-2], id="before the last line"),
    ],
)
def test_a_body_that_breaks_off_does_not_count_as_complete(
    web: Web, api: Api, starters: str, cut_off: Callable[[bytes], bytes]
) -> None:
    with Raw(web) as raw:
        body = cut_off(b'{"text": "the beginning"}')
        raw.send(starters, *as_json(api), "Transfer-Encoding: chunked", body=body)
        raw.socket.shutdown(socket.SHUT_WR)
        status, headers, told = raw.response()
    assert (status, headers["connection"]) == (400, "close")
    assert b"Expected complete chunks" in told
    assert not ConversationStarter.objects.exists()


@pytest.mark.parametrize("length", [100, 100_000])
def test_a_body_shorter_than_its_declared_length_is_rejected(
    web: Web, api: Api, starters: str, length: int
) -> None:
    before = len(web.said())
    with Raw(web) as raw:
        body = b'{"text": "the beginning"}'
        raw.send(starters, *as_json(api), f"Content-Length: {length}", body=body)
        raw.socket.shutdown(socket.SHUT_WR)
        status, headers, told = raw.response()
    assert (status, headers["connection"]) == (400, "close")
    assert b"Ended before its declared length" in told
    assert not ConversationStarter.objects.exists()
    assert '"ERROR"' not in web.said()[before:]


# Run in a separate process, because importing the web server changes the process's settings.
UNREAD = """
import asyncio
from contextlib import suppress

from config.runtime import bodies


class Unread:
    method, path, headers = "POST", "/api/v1/chatbots", {"transfer-encoding": "chunked"}

    async def __aiter__(self):
        yield b"x" * 2 * bodies.SMALL
        print(bodies.room.taken == bodies.SMALL)
        raise asyncio.CancelledError


with suppress(asyncio.CancelledError):
    asyncio.run(bodies.receive(Unread(), Unread(), "192.0.2.1"))
print(bodies.room.taken, dict(bodies.room.shares))
"""


def test_a_body_that_is_never_complete_keeps_no_memory_reserved(tmp_path: Path) -> None:
    assert run(tmp_path, UNREAD) == "True\n0 {}\n"


BEHIND_A_PROXY = """
from ipaddress import ip_network

from django.conf import settings

from config import rsgi


class Headers(dict):
    def get_all(self, name):
        return [self[name]]


class Request:
    authority, headers = None, Headers({"x-forwarded-for": "2001:db8::1:2:3:4"})

    def __init__(self, client):
        self.client = client


settings.TRUSTED_PROXIES = [ip_network("192.0.2.0/24")]
for client in ("192.0.2.1:80", "198.51.100.1:80", "[::ffff:198.51.100.1]:80"):
    print(rsgi.counted_address(Request(client)))
"""


def test_a_body_behind_a_proxy_counts_toward_the_address_of_its_client(tmp_path: Path) -> None:
    expected = "2001:db8::/64\n198.51.100.1\n198.51.100.1\n"
    assert run(tmp_path, BEHIND_A_PROXY) == expected


def test_a_long_body_in_many_chunks_is_complete(web: Web, api: Api, starters: str) -> None:
    text = "x" * 300_000
    body = json.dumps({"text": text}).encode()
    parts = [body[at : at + 1_000] for at in range(0, len(body), 1_000)]
    with Raw(web) as raw:
        raw.send(starters, *as_json(api), "Transfer-Encoding: chunked")
        for part in parts:
            raw.socket.sendall(b"%x\r\n%s\r\n" % (len(part), part))
        raw.socket.sendall(b"0\r\n\r\n")
        status, _, told = raw.response()
    assert (status, json.loads(told)["data"]["text"]) == (200, text)


@pytest.mark.parametrize(("key", "expected"), [(None, 401), ("", 400)])
def test_a_rejected_body_leaves_the_connection_usable(
    web: Web, api: Api, starters: str, key: str | None, expected: int
) -> None:
    length = 2 * MAX_BYTES
    known = as_json(api) if key is not None else ("Content-Type: application/json",)
    with Raw(web) as raw:
        raw.send(starters, *known, f"Content-Length: {length}", body=b"x" * length)
        status, headers, _ = raw.response()
        assert (status, "connection" in headers) == (expected, False)
        raw.send("GET /healthz")
        assert raw.response()[0] == 200


def test_a_response_to_an_unread_body_closes_the_connection(
    web: Web, api: Api, starters: str
) -> None:
    with Raw(web) as raw:
        raw.send(starters, *as_json(api), "Content-Length: 1000000000", body=b"x")
        status, headers, _ = raw.response()
        assert (status, headers["connection"]) == (400, "close")
        assert raw.file.read() == b""


def test_the_sign_in_page_accepts_no_file(web: Web) -> None:
    kind = "Content-Type: multipart/form-data; boundary=x"
    with Raw(web) as raw:
        raw.send("POST /admin/login/", kind, "Content-Length: 400000000", body=b"--x\r\n")
        status, headers, _ = raw.response()
    assert (status, headers["connection"]) == (400, "close")


@pytest.mark.parametrize("method", ["GET", "POST", "PATCH"])
@pytest.mark.parametrize("length", [10, 100_000], ids=["small", "large"])
def test_a_late_body_is_rejected(
    web: Web, api: Api, chatbot: Chatbot, method: str, length: int
) -> None:
    path = f"/api/v1/chatbots/account/{chatbot.account_id}/chatbot/{chatbot.pk}"
    with Raw(web) as raw:
        raw.send(f"{method} {path}", *as_json(api), f"Content-Length: {length}", body=b'{"')
        status, headers, told = raw.response()
    assert (status, headers["connection"]) == (400, "close"), told
    assert b"Not received within 4 seconds" in told


@pytest.mark.slow
def test_600_slow_clients_block_no_other_client_and_are_rejected_at_the_timeout(
    longer_web: Web, api: Api, starters: str
) -> None:
    form = ("Content-Type: application/x-www-form-urlencoded", "Transfer-Encoding: chunked")
    slow = [Raw(longer_web) for _ in range(SLOW)]
    began = time.monotonic()
    for number, raw in enumerate(slow):
        if number % 2:
            raw.send("POST /admin/login/", *form, body=b"1\r\nx\r\n")
        else:
            raw.send(starters, *as_json(api), "Content-Length: 1000", body=b'{"')
    known = {"Authorization": f"Bearer {api.key}"}
    for path in ["/api/v1/chatbots", "/healthz", "/admin/login/"] * 3:
        assert requests.get(longer_web.address + path, headers=known, timeout=15).status_code == 200
    body = {"text": "quick"}
    made = requests.post(longer_web.address + starters[5:], json=body, headers=known, timeout=15)
    assert made.status_code == 200
    for raw in slow:
        with raw:
            status, headers, told = raw.response()
            assert (status, headers["connection"]) == (400, "close")
            assert b"Not received within 30 seconds" in told or b"<html" in told
    assert LONGER <= time.monotonic() - began < LONGER + 30


def test_a_header_with_an_underscore_is_not_mistaken_for_the_one_with_a_dash(web: Web) -> None:
    answer = requests.get(f"{web.address}/healthz", headers={"X_Request_Id": "made-up"}, timeout=30)
    assert answer.headers["X-Request-Id"] != "made-up"


@pytest.mark.parametrize(
    "parameters",
    [
        pytest.param('";"' * 30_000, id="many parameters"),  # Django's parser takes seconds
        "; charset=hex",
        "; charset=undefined",
        "; charset=cp037",
        "; charset=utf-8",
        "; a*=nope''b",
    ],
)
@pytest.mark.parametrize("path", ["/api/v1/chatbots?limit=7", "/admin/login/?next=/admin/"])
def test_the_parameters_of_a_content_type_are_ignored(
    web: Web, api: Api, path: str, parameters: str
) -> None:
    key, _ = as_json(api)
    with Raw(web) as client:
        client.send(f"GET {path}", key, f"Content-Type: application/json{parameters}")
        began = time.monotonic()
        status, headers, body = client.response()
    assert status == 200
    assert time.monotonic() - began < 2
    assert "x-request-id" in headers
    if path.startswith("/api"):
        assert json.loads(body)["data"]["pagination"]["limit"] == 7


@pytest.mark.parametrize("charset", ["", "; charset=utf-8"])
def test_too_many_parameters_are_rejected_in_the_envelope(web: Web, api: Api, charset: str) -> None:
    query = "&".join(f"a{number}=1" for number in range(1_001))
    key, kind = as_json(api)
    with Raw(web) as client:
        client.send(f"GET /api/v1/chatbots?{query}", key, kind + charset)
        status, _, body = client.response()
    assert (status, json.loads(body)["success"]) == (400, False)


@pytest.mark.parametrize("boundary", ["----WebKitFormBoundaryA1", '"a b"', '"a/b:c=d"', "'()+_,-."])
def test_a_form_keeps_its_boundary(web: Web, boundary: str) -> None:
    inner = boundary.strip('"').encode()
    body = b"--%s\r\nContent-Disposition: form-data; name=x\r\n\r\n1\r\n--%s--\r\n" % (inner, inner)
    kind = f"Content-Type: multipart/form-data; charset=hex; boundary={boundary}"
    with Raw(web) as client:
        client.send("POST /admin/login/", kind, f"Content-Length: {len(body)}", body=body)
        status, _, _ = client.response()
    assert status == 403  # the form was read but has no CSRF token; an unreadable form gets a 400


def test_only_http_1_is_served(web: Web) -> None:
    with Raw(web) as raw:
        raw.socket.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0")
        assert raw.file.read() == b""


@pytest.mark.parametrize(
    ("length", "headers", "expected"),
    [(65_534, 1, 200), (65_535, 1, 414), (8, 100, 200), (8, 101, 431)],
    ids=["long path", "too long path", "many headers", "too many headers"],
)
def test_the_web_server_limits_a_path_and_its_headers(
    web: Web, length: int, headers: int, expected: int
) -> None:
    with Raw(web) as raw:
        path = "/healthz?".ljust(length, "a")[:length]
        raw.send(f"GET {path}", *(f"X-{number}: a" for number in range(1, headers)))
        status, _, body = raw.response()
    assert (status, bool(body)) == (expected, expected == 200)


def test_a_static_file_arrives_whole_or_in_part(web: Web) -> None:
    name = "drf_spectacular_sidecar/redoc/bundles/redoc.standalone.js"
    content = Path(str(finders.find(name))).read_bytes()
    address = f"{web.address}/static/{name}"
    with requests.Session() as session:
        whole = session.get(address, headers={"Accept-Encoding": "identity"}, timeout=60)
        assert whole.content == content
        assert whole.headers["Content-Length"] == str(len(content))
        assert "Transfer-Encoding" not in whole.headers
        head = session.head(address, timeout=60)
        for answer in (whole, head):
            del answer.headers["X-Request-Id"], answer.headers["Date"]
        assert head.headers == whole.headers
        part = session.get(address, headers={"Range": "bytes=9-600008"}, timeout=60)
        assert (part.status_code, part.content) == (206, content[9:600_009])
        tag = {"If-None-Match": whole.headers["ETag"]}
        same = session.get(address, headers=tag, timeout=60)
        assert (same.status_code, same.content) == (304, b"")
