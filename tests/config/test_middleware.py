"""The client's address with and without trusted proxies, and malformed requests."""

import ipaddress
from typing import Any

import pytest
from django.test import Client, RequestFactory

from chatbots.models import Chatbot
from config.middleware import client_address, counted_as, trusted
from tests.conftest import Api
from tests.factories.conversations import ThreadFactory
from tests.factories.staff import signed_in, superuser

PROXIES = (ipaddress.ip_network("10.0.0.0/8"), ipaddress.ip_network("fd00::/8"))


@pytest.fixture(autouse=True)
def proxies(settings: Any) -> None:
    settings.TRUSTED_PROXIES = PROXIES


def address(peer: str, forwarded: str | None = None) -> str:
    """Return the client's address, given the peer's address and an X-Forwarded-For header."""
    headers = {} if forwarded is None else {"X-Forwarded-For": forwarded}
    return client_address(RequestFactory().get("/", REMOTE_ADDR=peer, headers=headers))


@pytest.mark.parametrize(
    ("peer", "forwarded", "found"),
    [
        pytest.param("192.0.2.1", None, "192.0.2.1", id="no proxy"),
        pytest.param("192.0.2.1", "1.2.3.4", "192.0.2.1", id="untrusted peer with a header"),
        pytest.param("10.0.0.1", None, "10.0.0.1", id="proxy without a header"),
        pytest.param("10.0.0.1", "192.0.2.1", "192.0.2.1", id="one proxy"),
        pytest.param("10.0.0.1", "192.0.2.1, 10.0.0.2", "192.0.2.1", id="two proxies"),
        pytest.param("10.0.0.1", "1.2.3.4, 192.0.2.1", "192.0.2.1", id="forged first hop"),
        pytest.param("10.0.0.1", "10.0.0.9", "10.0.0.9", id="caller within the trusted network"),
        pytest.param("10.0.0.1", "nonsense", "10.0.0.1", id="malformed header"),
        pytest.param("10.0.0.1", "192.0.2.1, nonsense", "10.0.0.1", id="malformed last hop"),
        pytest.param("10.0.0.1", "", "10.0.0.1", id="empty header"),
        pytest.param("10.0.0.1", " 192.0.2.1 ", "192.0.2.1", id="spaces"),
        pytest.param("::ffff:10.0.0.1", "192.0.2.1", "192.0.2.1", id="IPv4-mapped proxy"),
        pytest.param("fd00::1", "2001:db8::1", "2001:db8::1", id="IPv6"),
    ],
)
def test_only_a_trusted_proxy_is_believed(peer: str, forwarded: str | None, found: str) -> None:
    assert address(peer, forwarded) == found


@pytest.mark.parametrize(
    ("text", "is_trusted"), [("10.1.2.3", True), ("192.0.2.1", False), ("", False), ("x", False)]
)
def test_an_address_within_the_trusted_networks_is_trusted(text: str, is_trusted: bool) -> None:
    assert trusted(text) is is_trusted


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3::4", "2001:db8:1:2::/64"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("", ""),
        ("unix:", "unix:"),
    ],
)
def test_an_ipv6_address_is_counted_by_its_network(text: str, name: str) -> None:
    assert counted_as(text) == name


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("peer", "reached"), [("192.0.2.1", [404, 429, 429]), ("10.0.0.1", [404, 404, 404])]
)
def test_a_forged_address_does_not_escape_the_limit(
    settings: Any, peer: str, reached: list[int]
) -> None:
    settings.RATE_LIMIT_IP = (1, 10**8)  # the window outlasts the test
    statuses = [
        Client(REMOTE_ADDR=peer)
        .get("/api/nowhere", headers={"X-Forwarded-For": f"198.51.100.{n}"})
        .status_code
        for n in range(3)
    ]
    assert statuses == reached


@pytest.mark.parametrize(("peer", "secure"), [("10.0.0.1", True), ("192.0.2.1", False)])
def test_https_is_believed_only_from_a_trusted_proxy(
    settings: Any, peer: str, secure: bool
) -> None:
    settings.SECURE_HSTS_SECONDS = 60
    answer = Client(REMOTE_ADDR=peer).get("/healthz", headers={"X-Forwarded-Proto": "https"})
    assert ("Strict-Transport-Security" in answer.headers) is secure


MANY = "&" * 1100  # more parameters than Django parses
LONG = "9" * 400
ODD = ["abc", "-1", "0", LONG, "%00", "%ff", "1e999", "%F0%9F%98%80", "'", "[]", "%20"]


@pytest.mark.parametrize("name", ["limit", "page", "before", "x"])
def test_no_query_string_causes_a_server_error_in_the_api(
    api: Api, chatbot: Chatbot, name: str
) -> None:
    thread = ThreadFactory(chatbot=chatbot)
    here = f"/v1/chatting/{chatbot.pk}"
    for path in (f"{here}/thread/{thread.pk}/messages", f"{here}/threads"):
        for value in [*ODD, MANY]:
            answer = api.get(f"{path}?{name}={value}")
            assert answer.status_code in (200, 400), (path, name, value)
        assert answer.status_code == 400
        assert answer.json()["errors"] == [{"path": [], "message": "Too many parameters"}]


@pytest.mark.parametrize(
    ("path", "statuses"),
    [
        ("/admin/search/?s=a&page={}", {200, 400, 404}),
        ("/admin/webhooks/delivery/?state={}", {200, 302, 400}),
        ("/admin/chatbots/chatbot/?p={}", {200, 302, 400}),
        ("/admin/chatbots/chatbot/?q={}", {200, 302, 400}),
        ("/admin/chatbots/chatbot/?" + MANY + "{}", {400}),
        ("/admin/chatbots/chatbot/{}/change/", {302, 400, 404}),
        ("/admin/login/?next={}", {200, 302, 400}),
    ],
)
def test_no_query_string_causes_a_server_error_in_the_admin(
    db: None, path: str, statuses: set[int]
) -> None:
    client = signed_in(superuser())
    client.raise_request_exception = False
    assert {client.get(path.format(value)).status_code for value in ODD} <= statuses


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("application/x-www-form-urlencoded", b"a=1&" * 1100),
        ("application/x-www-form-urlencoded", b"a" * 5_000_000),
        ("multipart/form-data; boundary=x", b"a" * 5_000_000),
        ("multipart/form-data", b"no boundary"),
        ("multipart/form-data; boundary=x", b"no part"),
    ],
)
def test_no_form_causes_a_server_error_on_the_sign_in_page(
    db: None, kind: str, body: bytes
) -> None:
    client = Client(raise_request_exception=False, enforce_csrf_checks=False)
    answer = client.generic("POST", "/admin/login/", body, content_type=kind)
    assert answer.status_code == (200 if body == b"no part" else 400)


@pytest.mark.parametrize("cookie", ["sessionid=\xff", "sessionid=%00", "messages=x", '=";', "a"])
def test_no_cookie_causes_a_server_error_on_a_page(db: None, cookie: str) -> None:
    for path in ("/admin/login/", "/api/v1/chatbots"):
        assert Client().get(path, headers={"Cookie": cookie}).status_code in (200, 401)
