"""Cookies, compression, the content security policy, and malformed input of pages."""

import gzip
import re

import pytest
from django.http import HttpResponse
from django.test import Client, RequestFactory
from django.urls import reverse

from chatbots.models import Chatbot, LlmModel
from config.page_middleware import CompressionMiddleware
from tests.conftest import Api
from tests.factories.staff import signed_in, superuser
from tests.factories.tenant import Tenant

INLINE = re.compile(r"<script(?![^>]*\bsrc=)(?![^>]*application/json)[^>]*>|\son\w+=\"|javascript:")
OUTSIDE = re.compile(r"<(?:script|link|img|iframe)[^>]+(?:src|href)=\"(?:https?:)?//")


def test_the_api_ignores_a_session_cookie(db: None) -> None:
    response = signed_in(superuser()).get("/api/v1/chatbots")
    assert response.status_code == 401
    assert not response.cookies


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


@pytest.mark.parametrize("cookie", ["sessionid=\xff", "sessionid=%00", "messages=x", '=";', "a"])
def test_no_cookie_causes_a_server_error(db: None, cookie: str) -> None:
    for path in ("/admin/login/", "/api/v1/chatbots"):
        assert Client().get(path, headers={"Cookie": cookie}).status_code in (200, 401)


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


@pytest.mark.parametrize("path", ["/admin/login/", "/docs"])
def test_a_page_runs_scripts_only_from_this_service(db: None, path: str) -> None:
    policy = Client().get(path)["Content-Security-Policy"].split("; ")
    assert {"script-src 'self'", "default-src 'self'"} <= set(policy)


@pytest.mark.parametrize("path", ["/healthz", "/openapi.json"])
def test_json_responses_have_no_policy(db: None, path: str) -> None:
    assert "Content-Security-Policy" not in Client().get(path)


def test_no_page_contains_anything_that_the_policy_blocks(default_model: LlmModel) -> None:
    tenant = Tenant("mine")
    client = signed_in(superuser())
    pages = [reverse("admin:index"), "/docs"]
    for row in tenant.rows:
        name = row._meta.label_lower.replace(".", "_")
        if name.split("_")[1] in {"chatbot", "thread", "delivery", "account", "instruction"}:
            pages += [
                reverse(f"admin:{name}_changelist"),
                reverse(f"admin:{name}_change", args=[row.pk]),
            ]
    for address in [*pages, reverse("admin:webhooks_endpoint_of", args=[tenant.chatbot.pk])]:
        page = client.get(address)
        assert page.status_code == 200, address
        text = page.content.decode()
        assert not INLINE.search(text), (address, INLINE.search(text))
        assert not OUTSIDE.search(text), (address, OUTSIDE.search(text))
