"""The security headers of pages and API responses, with and without HTTPS."""

from typing import Any

import pytest
import requests
from django.test import Client

from tests.servers.processes import Web

HTTPS = {"PUBLIC_URL": "https://bots.example.com", "TRUSTED_PROXIES": "127.0.0.0/8"}


@pytest.mark.parametrize("path", ["/admin/login/", "/docs", "/openapi.json", "/healthz"])
def test_browsers_are_told_not_to_frame_a_page_or_sniff_its_type(db: None, path: str) -> None:
    answer = Client().get(path)
    assert answer["X-Frame-Options"] == "DENY"
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Referrer-Policy"] == "same-origin"


@pytest.mark.parametrize("path", ["/api/nowhere", "/api/v1/chatbots"])
def test_browsers_are_told_not_to_sniff_the_type_of_an_api_response(db: None, path: str) -> None:
    assert Client().get(path)["X-Content-Type-Options"] == "nosniff"


class HttpsWeb(Web):
    """A web process behind a proxy that terminates TLS."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.environment |= HTTPS


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_behind_https_cookies_are_secure_and_hsts_is_sent() -> None:
    with HttpsWeb() as web:
        told = {"X-Forwarded-Proto": "https", "Host": "bots.example.com"}
        answer = requests.get(f"{web.address}/admin/login/", headers=told, timeout=60)
        assert answer.headers["Strict-Transport-Security"] == "max-age=31536000"
        assert all(cookie.secure for cookie in answer.cookies)
        assert "Secure" in answer.headers["Set-Cookie"]
        assert "SameSite=Lax" in answer.headers["Set-Cookie"]


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_over_http_cookies_are_not_secure_and_hsts_is_not_sent() -> None:
    with Web() as web:
        answer = requests.get(f"{web.address}/admin/login/", timeout=60)
        assert "Strict-Transport-Security" not in answer.headers
        assert "Secure" not in answer.headers["Set-Cookie"]
