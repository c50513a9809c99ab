"""Requests that are sent slowly, oddly or incompletely, as their clients observe them."""

import json
import select
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import requests
from django.contrib.staticfiles import finders

from chatbots.models import ConversationStarter
from config.api.strict_json import MAX_BYTES
from tests.config.imported_settings import run
from tests.conftest import Api
from tests.patience import PATIENCE
from tests.servers.processes import Web, wait_until
from tests.servers.raw import Raw, as_json

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.proves("HTTP statuses/400")]

TIMEOUT = 2  # seconds; in these tests, a body must arrive within this time
SLOW = 300  # number of clients at each of two addresses that do not finish their bodies
ALICE, BOB, CAROL = "127.0.0.2", "127.0.0.3", "127.0.0.4"


@pytest.fixture(scope="module")
def web(django_db_setup: None) -> Iterator[Web]:
    """A web server without rate limits, with the default number of threads."""
    limits = {"RATE_LIMIT_IP": "off", "RATE_LIMIT_USER": "off"}
    with Web(WEB_WORKERS="1", TEST_BODY_TIMEOUT=str(TIMEOUT), **limits) as web:
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


BEHIND_A_PROXY = """
from ipaddress import ip_network

from django.conf import settings

from config.middleware import client_address, counted_as

settings.TRUSTED_PROXIES = [ip_network("192.0.2.0/24")]
for peer in ("192.0.2.1", "198.51.100.1", "::ffff:198.51.100.1"):
    given = {"REMOTE_ADDR": peer, "HTTP_X_FORWARDED_FOR": "2001:db8::1:2:3:4"}
    print(counted_as(client_address(given)))
"""


def test_a_body_behind_a_proxy_counts_toward_the_address_of_its_client(tmp_path: Path) -> None:
    expected = "2001:db8::/64\n198.51.100.1\n198.51.100.1\n"
    assert run(tmp_path, BEHIND_A_PROXY) == expected


SILENT_DATABASE = """
from io import BytesIO

from config.runtime import gate
from config.wsgi import application

def call(path):
    told = []
    given = {"REQUEST_METHOD": "GET", "PATH_INFO": path, "QUERY_STRING": "", "REMOTE_ADDR": "::1"}
    given |= {"SERVER_NAME": "localhost", "SERVER_PORT": "80", "wsgi.url_scheme": "http"}
    body = application(given | {"wsgi.input": BytesIO()}, lambda *args: told.extend(args))
    status, headers = told
    shown = [value for name, value in headers if name in ("Retry-After", "Content-Type")]
    print(">", path, status[:3], *sorted(shown), b"".join(body).decode().partition("\\n")[0])

gate.PATIENCE = 0.1
for _ in range(gate.PLACES):
    gate.reads.free.get()  # taken by requests that wait for the database
for path in ("/api/v1/chatbots", "/admin/login/", "/healthz"):
    call(path)
for _ in range(gate.PLACES):
    gate.reads.free.put(None)
call("/api/v1/chatbots")
with gate.reads.inside():
    try:
        with gate.waiting():
            for _ in range(gate.PLACES):
                gate.reads.free.get()
    except gate.Unavailable:
        print("> refused after a wait")
print(">", gate.reads.free.qsize(), "places")
"""
UNAVAILABLE = '503 1 application/json {"success":false,"message":"service unavailable"}'


def test_requests_behind_a_silent_database_get_a_503_and_leave_their_threads(
    tmp_path: Path,
) -> None:
    told = run(tmp_path, SILENT_DATABASE).splitlines()  # includes the access log
    shown = [line.removeprefix("> ") for line in told if line.startswith(">")]
    api, page, probe, later, waited, free = shown
    assert api == f"/api/v1/chatbots {UNAVAILABLE}"
    assert page.startswith("/admin/login/ 503 1 text/html")
    assert probe.split()[:2] == ["/healthz", "200"]
    assert later.split()[:2] == ["/api/v1/chatbots", "401"]
    assert (waited, free) == ("refused after a wait", "0 places")


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


def test_a_late_body_is_rejected(web: Web, api: Api, starters: str) -> None:
    with Raw(web) as raw:
        raw.send(starters, *as_json(api), "Content-Length: 100000", body=b" " * 5_000)
        while not select.select([raw.socket], [], [], 0.5)[0]:  # until the response arrives
            raw.socket.sendall(b" " * 5_000)
        status, headers, told = raw.response()
    assert (status, headers["connection"]) == (400, "close"), told
    assert b"Not received within 2 seconds" in told


def seconds_to_read(web: Web, api: Api, source: str) -> float:
    """Return how long the slowest of 20 reads and probes takes."""
    known, slowest = as_json(api)[:1], 0.0
    for path in ["/api/v1/chatbots", "/healthz"] * 10:
        with Raw(web, source=source) as raw:
            began = time.monotonic()
            raw.send(f"GET {path}", *known)
            assert raw.response()[0] == 200
            slowest = max(slowest, time.monotonic() - began)
    return slowest


def test_unfinished_bodies_block_no_read_and_take_no_more_than_their_share(
    web: Web, api: Api, starters: str
) -> None:
    def written(source: str) -> int:
        body = b'{"text": "quick"}'
        with Raw(web, source=source) as raw:
            raw.send(starters, *as_json(api), f"Content-Length: {len(body)}", body=body)
            status, _, told = raw.response()
        assert status == 200 or json.loads(told)["message"] == "service unavailable"
        return status

    with ExitStack() as slow:
        for source, others in ((ALICE, 200), (BOB, 503)):
            for _ in range(SLOW):
                raw = slow.enter_context(Raw(web, source=source))
                raw.send(starters, *as_json(api), "Content-Length: 1000", body=b'{"')
            wait_until(lambda source=source: written(source) == 503, told=web.said)
            assert written(CAROL) == others
            assert seconds_to_read(web, api, source) < PATIENCE / 10
    wait_until(lambda: written(CAROL) == 200, told=web.said)


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
