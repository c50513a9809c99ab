"""Errors in the admin and on the invitation page are shown as HTML. Other errors are JSON."""

import pytest
from django.conf import settings
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from chatbots.models import Chatbot
from conversations.models import Thread
from tests.factories.conversations import ThreadFactory
from tests.factories.staff import signed_in

FORM = "application/x-www-form-urlencoded"


@pytest.fixture
def thread(chatbot: Chatbot) -> Thread:
    return ThreadFactory(chatbot=chatbot)


@pytest.fixture
def client(chatbot: Chatbot) -> Client:
    return signed_in(chatbot.account.owner, raise_request_exception=False)


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
    assert is_page(client.get("/admin/logout/"), 405)
    assert is_page(client.get("/admin/", headers={"Host": "example.org"}), 400)


def test_the_address_of_a_button_leads_to_its_page(client: Client, thread: Thread) -> None:
    answer = client.get(at(thread, "reply"), follow=True)
    assert answer.request["PATH_INFO"] == at(thread, "change")


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


@pytest.mark.parametrize("address", ["/nothing", "/api/v1/nothing", "/adminx"])
def test_an_error_outside_the_admin_is_json(db: None, address: str) -> None:
    answer = Client(raise_request_exception=False).get(address)
    assert answer["Content-Type"] == "application/json"
    assert answer.json() == {"success": False, "message": "resource not found"}
