"""Pages have sessions, users and messages. The API has none, and the same headers as before."""

from typing import Any

import pytest
from django.test import Client

from chatbots.models import Chatbot
from tests.conftest import Api
from tests.factories.staff import signed_in, superuser

SECURITY = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}


@pytest.mark.parametrize(
    ("path", "is_page"),
    [
        ("/admin/login/", True),
        ("/docs", True),
        ("/api/v1/chatbots", False),
        ("/api/nowhere", False),
    ],
)
def test_only_pages_have_a_session_a_user_and_messages(db: None, path: str, is_page: bool) -> None:
    request = signed_in(superuser()).get(path).wsgi_request
    assert [hasattr(request, name) for name in ("session", "user", "_messages")] == [is_page] * 3


def test_a_session_cookie_means_nothing_to_the_api(db: None) -> None:
    response = signed_in(superuser()).get("/api/v1/chatbots")
    assert response.status_code == 401
    assert not response.cookies


@pytest.mark.parametrize(("path", "status"), [("/v1/chatbots", 200), ("/nowhere", 404)])
def test_a_response_of_the_api_has_these_headers_only(
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


def test_a_refused_address_gets_the_security_headers_of_its_kind(settings: Any, db: None) -> None:
    settings.RATE_LIMIT_IP = (1, 10**8)
    client = Client(REMOTE_ADDR="192.0.2.77")
    refused = [client.get("/api/nowhere") for _ in range(2)][1]
    assert refused.status_code == 429
    assert set(refused.headers) == {"Content-Type", "Retry-After", "X-Request-Id"}
