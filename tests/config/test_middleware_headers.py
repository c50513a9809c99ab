"""The headers of pages and API responses, with and without HTTPS."""

from typing import Any

import pytest
import requests
from django.test import Client

from chatbots.models import Chatbot
from tests.conftest import Api
from tests.servers.processes import Web

SECURITY = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}
HTTPS = {"PUBLIC_URL": "https://bots.example.com", "TRUSTED_PROXIES": "127.0.0.0/8"}


@pytest.mark.parametrize(
    "path",
    ["/admin/login/", "/docs", "/openapi.json", "/healthz", "/api/nowhere", "/api/v1/chatbots"],
)
def test_every_response_has_the_security_headers(db: None, path: str) -> None:
    headers = Client().get(path).headers
    assert {name: headers.get(name) for name in SECURITY} == SECURITY


@pytest.mark.parametrize(("path", "status"), [("/v1/chatbots", 200), ("/nowhere", 404)])
def test_an_api_response_has_only_these_headers(
    api: Api, chatbot: Chatbot, path: str, status: int
) -> None:
    response = api.get(path)
    assert response.status_code == status
    length = str(len(response.content))
    expected = SECURITY | {"Content-Type": "application/json", "Content-Length": length}
    headers = dict(response.headers)
    assert headers.pop("X-Request-Id")
    if status == 200:
        assert headers.pop("Allow") == "GET, HEAD"
    assert headers == expected


def test_a_refused_address_gets_only_the_headers_that_it_needs(settings: Any, db: None) -> None:
    settings.RATE_LIMIT_IP = (1, 10**8)
    client = Client(REMOTE_ADDR="192.0.2.77")
    refused = [client.get("/api/nowhere") for _ in range(2)][1]
    assert refused.status_code == 429
    assert set(refused.headers) == {"Content-Type", "Retry-After", "X-Request-Id"}


class HttpsWeb(Web):
    """A web process behind a proxy that terminates TLS."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.environment |= HTTPS


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("server", "secure"), [(HttpsWeb, True), (Web, False)])
def test_cookies_are_secure_and_hsts_is_sent_only_behind_https(
    server: type[Web], secure: bool
) -> None:
    with server() as web:
        told = {"X-Forwarded-Proto": "https", "Host": "bots.example.com"} if secure else {}
        answer = requests.get(f"{web.address}/admin/login/", headers=told, timeout=60)
    hsts = "max-age=31536000" if secure else None
    assert answer.headers.get("Strict-Transport-Security") == hsts
    assert {cookie.secure for cookie in answer.cookies} == {secure}
    assert "SameSite=Lax" in answer.headers["Set-Cookie"]
