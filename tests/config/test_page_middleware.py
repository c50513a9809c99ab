"""Only requests for pages have a session, a user and messages.

API responses have a fixed set of headers.
"""

import gzip
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client, RequestFactory

from chatbots.models import Chatbot
from config.page_middleware import CompressionMiddleware
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


def test_the_api_ignores_a_session_cookie(db: None) -> None:
    response = signed_in(superuser()).get("/api/v1/chatbots")
    assert response.status_code == 401
    assert not response.cookies


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


def test_the_root_redirects_to_the_admin() -> None:
    response = Client().get("/")
    assert (response.status_code, response["Location"]) == (302, "/admin/")


@pytest.mark.parametrize("path", ["/admin/login/", "/openapi.json"])
def test_pages_and_the_openapi_document_are_compressed(db: None, path: str) -> None:
    plain = Client().get(path)
    sent = Client().get(path, headers={"Accept-Encoding": "gzip"})
    assert sent["Content-Encoding"] == "gzip"
    assert len(sent.content) < len(plain.content) / 3
    assert int(sent["Content-Length"]) == len(sent.content)
    assert "Accept-Encoding" in sent["Vary"]
    assert len(gzip.decompress(sent.content)) == len(plain.content)


def test_responses_with_an_etag_and_api_responses_are_not_compressed(
    api: Api, chatbot: Chatbot
) -> None:
    answer = CompressionMiddleware(lambda _: HttpResponse("x" * 500, headers={"ETag": '"1"'}))
    request = RequestFactory().get("/admin/", headers={"Accept-Encoding": "gzip"})
    assert "Content-Encoding" not in answer(request)
    read = api.get("/v1/chatbots", Accept_Encoding="gzip")
    assert read.status_code == 200
    assert "Content-Encoding" not in read


@pytest.mark.parametrize("path", ["/admin/config/periodicwork/\0/change/", "/\0", "/admin/?q=%00"])
def test_a_nul_in_the_url_of_a_page_is_a_bad_request(db: None, path: str) -> None:
    assert signed_in(superuser()).get(path).status_code == 400


@pytest.mark.parametrize("path", ["/admin/", "/admin/login/", "/invitation"])
def test_a_nul_in_the_session_cookie_is_a_bad_request(db: None, path: str) -> None:
    cookie = {"Cookie": r'sessionid="\000abcdefgh"'}  # Django decodes the octal escape
    assert Client().get(path, headers=cookie).status_code == 400
