"""Errors in the admin and on the invitation page are shown as HTML. Other errors are JSON."""

from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.http import HttpResponse
from django.test import Client, RequestFactory
from django.urls import reverse

from chatbots.models import Chatbot
from config.admin.error_pages import ErrorPagesMiddleware
from config.database.erasable import erased
from conversations.models import Thread
from tests.factories.conversations import ThreadFactory
from tests.factories.staff import AGENTS, signed_in, staff

FORM = "application/x-www-form-urlencoded"


@pytest.fixture
def thread(chatbot: Chatbot) -> Thread:
    return ThreadFactory(chatbot=chatbot)


@pytest.fixture
def client(chatbot: Chatbot) -> Client:
    return signed_in(staff(chatbot.account.owner, AGENTS), raise_request_exception=False)


def is_page(answer: HttpResponse, status: int) -> bool:
    """Assert that a response is HTML with this status code. Returns whether the code is shown."""
    assert answer.status_code == status
    assert answer["Content-Type"].startswith("text/html")
    assert "Content-Security-Policy" in answer
    assert int(answer["Content-Length"]) == len(answer.content)
    return f"Error {status}" in answer.content.decode()


def at(thread: Thread, name: str) -> str:
    return reverse(f"admin:conversations_thread_{name}", args=[thread.pk])


def test_an_error_in_the_admin_is_a_page(client: Client, thread: Thread) -> None:
    assert is_page(client.get("/admin/nothing/"), 404)
    assert is_page(client.get(reverse("admin:accounts_plan_changelist")), 403)
    strict = Client(enforce_csrf_checks=True)
    assert is_page(strict.post(at(thread, "reply"), {"content": "hello"}), 403)
    not_allowed = client.get(at(thread, "reply"))
    assert is_page(not_allowed, 405)
    assert not_allowed["Allow"] == "POST"
    assert is_page(client.get("/admin/", headers={"Host": "example.org"}), 400)


def test_an_error_on_the_invitation_page_is_a_page_with_a_link_back(db: None) -> None:
    strict = Client(enforce_csrf_checks=True)
    address = "/invitation?token=abc"
    origin = {"Referer": f"http://testserver{address}", "Host": "testserver"}
    answer = strict.post(address, headers=origin)
    assert is_page(answer, 403)
    assert f'href="{address}"' in answer.text
    assert 'href="/admin/"' not in answer.text


@pytest.mark.parametrize(
    "body",
    [
        b"&".join(
            b"field%d=1" % number for number in range(settings.DATA_UPLOAD_MAX_NUMBER_FIELDS + 1)
        ),
        b"content=" + b"x" * settings.DATA_UPLOAD_MAX_MEMORY_SIZE,
    ],
    ids=["too many fields", "too large"],
)
def test_a_form_beyond_the_limits_gets_an_error_page(
    client: Client, thread: Thread, body: bytes
) -> None:
    assert is_page(client.post(at(thread, "reply"), body, content_type=FORM), 400)


def test_the_page_of_a_server_error_shows_the_request_id(
    client: Client, thread: Thread, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("conversations.admin.conversation.newest", None)
    answer = client.get(at(thread, "change"), headers={"X-Request-Id": "wanted-id"})
    assert is_page(answer, 500)
    assert "wanted-id" in answer.content.decode()


def test_a_row_that_is_erased_during_a_request_is_reported_as_missing(
    client: Client, thread: Thread
) -> None:
    def before_the_lock(execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
        if "accounts_plan" in sql and not gone:
            gone.append(thread.pk)
            Thread.objects.filter(pk=thread.pk).update(**erased())
        return execute(sql, *rest)

    gone: list[Any] = []
    with connection.execute_wrapper(before_the_lock):
        answer = client.post(at(thread, "resolve"), {"resolved": "1"})
    assert gone
    assert is_page(answer, 404)


def test_an_error_page_needs_no_query() -> None:
    """This test does not use the `db` fixture, so any query would fail."""
    for status in (400, 403, 404, 405, 413, 418, 429, 500, 503):
        answering = ErrorPagesMiddleware(lambda _, status=status: HttpResponse(status=status))
        answer = answering(RequestFactory().get("/admin/"))
        assert f"Error {status}" in answer.content.decode()


@pytest.mark.parametrize(
    ("origin", "shown"),
    [
        ("http://testserver/admin/conversations/thread/?view=all", True),
        ("http://testserver/admin/nothing/", False),  # the failed page itself
        ("http://testserver/docs", False),
        ("https://example.org/admin/conversations/thread/?view=all", False),
        ("http://[", False),  # not a URL
        ("", False),
    ],
)
def test_an_error_page_links_to_the_admin_page_that_led_there(origin: str, shown: bool) -> None:
    answering = ErrorPagesMiddleware(lambda _: HttpResponse(status=404))
    request = RequestFactory().get(
        "/admin/nothing/", headers={"Referer": origin, "Host": "testserver"}
    )
    page = answering(request).content.decode()
    assert ('href="/admin/conversations/thread/?view=all"' in page) is shown
    assert 'href="/admin/"' in page


@pytest.mark.parametrize("address", ["/nothing", "/api/v1/nothing", "/adminx"])
def test_an_error_outside_the_admin_is_json(db: None, address: str) -> None:
    answer = Client(raise_request_exception=False).get(address)
    assert answer["Content-Type"] == "application/json"
    assert answer.json() == {"success": False, "message": "resource not found"}
