"""The client's address with and without trusted proxies, and malformed requests."""

from typing import Any

import pytest
from django.test import Client, RequestFactory

from chatbots.models import Chatbot
from config.environment import networks
from config.middleware import client_address, counted_as, trusted
from tests.conftest import Api
from tests.factories.conversations import ThreadFactory
from tests.factories.staff import signed_in, superuser

PROXY, CLIENT = "10.0.0.1", "192.0.2.1"


@pytest.fixture(autouse=True)
def proxies(settings: Any) -> None:
    settings.TRUSTED_PROXIES = networks("10.0.0.0/8, fd00::/8")


@pytest.mark.parametrize(
    ("peer", "forwarded_for", "forwarded", "found"),
    [
        pytest.param(CLIENT, None, None, CLIENT, id="no proxy"),
        pytest.param(CLIENT, "1.2.3.4", None, CLIENT, id="untrusted peer with a header"),
        pytest.param(PROXY, None, None, PROXY, id="proxy without a header"),
        pytest.param(PROXY, CLIENT, None, CLIENT, id="one proxy"),
        pytest.param(PROXY, f"{CLIENT}, 10.0.0.2", None, CLIENT, id="two proxies"),
        pytest.param(PROXY, f"1.2.3.4, {CLIENT}", None, CLIENT, id="forged first hop"),
        pytest.param(PROXY, "10.0.0.9", None, "10.0.0.9", id="caller within the trusted network"),
        pytest.param(PROXY, "nonsense", None, PROXY, id="malformed header"),
        pytest.param(PROXY, f"{CLIENT}, nonsense", None, PROXY, id="malformed last hop"),
        pytest.param(PROXY, f"{CLIENT}, ", None, PROXY, id="empty last hop"),
        pytest.param(PROXY, "", None, PROXY, id="empty header"),
        pytest.param(PROXY, f" {CLIENT} ", None, CLIENT, id="spaces"),
        pytest.param(PROXY, f"{CLIENT}:4711", None, CLIENT, id="port"),
        pytest.param("::ffff:10.0.0.1", CLIENT, None, CLIENT, id="IPv4-mapped proxy"),
        pytest.param("fd00::1", "2001:db8::1", None, "2001:db8::1", id="IPv6"),
        pytest.param(PROXY, None, f"for={CLIENT};proto=https", CLIENT, id="Forwarded"),
        pytest.param(
            PROXY, None, 'for=1.2.3.4, by=x;For="[2001:db8::7]:4711"', "2001:db8::7", id="IPv6 hop"
        ),
        pytest.param(PROXY, "1.2.3.4", f"for={CLIENT}", PROXY, id="contradictory headers"),
        pytest.param(PROXY, CLIENT, f"for={CLIENT}", CLIENT, id="matching headers"),
    ],
)
def test_the_client_is_the_last_hop_that_is_not_a_trusted_proxy(
    peer: str, forwarded_for: str | None, forwarded: str | None, found: str
) -> None:
    given = {"X-Forwarded-For": forwarded_for, "Forwarded": forwarded}
    headers = {name: value for name, value in given.items() if value is not None}
    request = RequestFactory().get("/", REMOTE_ADDR=peer, headers=headers)
    assert client_address(request.META) == found


@pytest.mark.parametrize(
    ("text", "is_trusted"), [("10.1.2.3", True), (CLIENT, False), ("", False), ("x", False)]
)
def test_an_address_within_the_trusted_networks_is_trusted(text: str, is_trusted: bool) -> None:
    assert trusted(text) is is_trusted


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (CLIENT, CLIENT),
        ("2001:db8:1:2:3::4", "2001:db8:1:2::/64"),
        ("::ffff:192.0.2.1", CLIENT),
        ("", ""),
        ("unix:", "unix:"),
    ],
)
def test_an_ipv6_address_is_counted_by_its_network(text: str, name: str) -> None:
    assert counted_as(text) == name


def test_an_address_with_a_zone_is_counted_by_its_network() -> None:
    assert counted_as("fe80::1%eth0") == counted_as("fe80::2%eth0")


@pytest.mark.django_db
@pytest.mark.parametrize(("peer", "reached"), [(CLIENT, [404, 429, 429]), (PROXY, [404, 404, 404])])
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


@pytest.mark.parametrize(("peer", "secure"), [(PROXY, True), (CLIENT, False)])
def test_https_is_believed_only_from_a_trusted_proxy(
    settings: Any, peer: str, secure: bool
) -> None:
    settings.SECURE_HSTS_SECONDS = 60
    answer = Client(REMOTE_ADDR=peer).get("/healthz", headers={"X-Forwarded-Proto": "https"})
    assert ("Strict-Transport-Security" in answer.headers) is secure


@pytest.mark.parametrize(
    ("path", "status"),
    [("/healthz", 200), ("/api/v1/chatbots", 400), ("/api/nowhere", 400), ("/docs", 400)],
)
def test_only_probes_may_name_an_unknown_host(db: None, path: str, status: int) -> None:
    answer = Client().get(path, headers={"Host": "10.1.2.3"})
    assert answer.status_code == status
    if status == 400:
        assert answer.json() == {
            "success": False,
            "message": "bad request",
            "code": "REQUEST_VALIDATION_FAILED",
        }


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
