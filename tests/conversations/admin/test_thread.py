"""A thread's page: its history and the agent's answers."""

import re
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from accounts.models import User
from chatbots.models import Chatbot
from conversations.models import Draft, Message, Thread
from conversations.models.message import MessageType
from tests.factories.conversations import LeadFactory, MessageFactory, ThreadFactory
from tests.factories.staff import AGENTS, signed_in, staff
from tests.factories.webhooks import EndpointFactory
from tests.pages import fields_of
from tests.refusing import refusing
from webhooks.models import Delivery

HOSTILE = '<img src=x onerror=alert(1)> see https://example.com/?a=1&b="x"'


@pytest.fixture
def agent(chatbot: Chatbot) -> User:
    return staff(chatbot.account.owner, AGENTS)


@pytest.fixture
def client(agent: User) -> Client:
    return signed_in(agent)


def at(thread: Thread, name: str = "change") -> str:
    return reverse(f"admin:conversations_thread_{name}", args=[thread.pk])


def text_of(client: Client, address: str) -> str:
    page = client.get(address)
    assert page.status_code == 200
    return page.content.decode()


def kinds(thread: Thread) -> list[str]:
    return list(
        Message.objects.filter(thread=thread)
        .order_by("position")
        .values_list("message_type", flat=True)
    )


def test_a_message_is_shown_as_plain_text(client: Client, thread: Thread) -> None:
    MessageFactory(thread=thread, content=HOSTILE)
    MessageFactory(
        thread=thread,
        message_type=MessageType.AI_MESSAGE,
        content="x" * 5_000 + HOSTILE,
        source=[
            {"title": "<b>page</b>", "url": "https://example.com/page"},
            {"title": "trap", "url": "javascript:alert(1)"},
        ],
    )
    text = text_of(client, at(thread))
    assert "<img src=x" not in text
    assert "javascript:alert" not in text
    assert "&lt;b&gt;page&lt;/b&gt;" in text
    assert text.count("&lt;img src=x onerror=alert(1)&gt;") == 2
    assert 'rel="nofollow"' in text


def test_every_author_is_named(client: Client, thread: Thread, agent: User) -> None:
    for kind in MessageType.values:
        name = "Sam <x>" if kind == MessageType.AGENT_MESSAGE else None
        MessageFactory(thread=thread, message_type=kind, agent_name=name)
    text = text_of(client, at(thread))
    for who in ("Visitor", "AI", "System", "Sam &lt;x&gt;"):
        assert f"<b>{who}</b>" in text


def test_the_newest_fifty_messages_are_shown_and_older_ones_are_linked(
    client: Client, thread: Thread
) -> None:
    for index in range(1, 121):
        MessageFactory(thread=thread, content=f"line {index}.")
    shown: list[list[int]] = []
    address: str | None = at(thread)
    while address:
        text = text_of(client, address)
        shown.append([int(number) for number in re.findall(r"line (\d+)\.", text)])
        older = re.search(r'href="(\?before=[^"]+)"', text)
        address = at(thread) + older[1] if older else None
    assert shown == [list(range(71, 121)), list(range(21, 71)), list(range(1, 21))]


@pytest.mark.parametrize("before", ["x", "01890000-0000-7000-8000-000000000001"])
def test_an_unknown_message_in_the_address_is_ignored(
    client: Client, thread: Thread, before: str
) -> None:
    MessageFactory(thread=thread, content="hello")
    assert "hello" in text_of(client, f"{at(thread)}?before={before}")


def test_a_page_needs_the_same_queries_at_any_number_of_messages(
    client: Client, thread: Thread
) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as asked:
            client.get(at(thread))
        return len(asked)

    message = MessageFactory(thread=thread)
    Draft.objects.create(message=message, content="late")
    few = queries()
    for _ in range(40):
        Draft.objects.create(message=MessageFactory(thread=thread), content="late")
    assert queries() == few
    assert few < 20


def test_an_answer_takes_the_thread_over_without_an_escalation_event(
    client: Client, thread: Thread, agent: User
) -> None:
    EndpointFactory(chatbot=thread.chatbot)
    assert "Send and take over" in text_of(client, at(thread))
    client.post(at(thread, "reply"), {"content": " Let me look \n"})
    thread.refresh_from_db()
    assert (thread.escalated, thread.taken_over_by) == (True, agent)
    assert kinds(thread) == ["SYSTEM_MESSAGE", "AGENT_MESSAGE"]
    message = Message.objects.get(message_type="AGENT_MESSAGE")
    assert (message.content, message.agent_name) == (" Let me look \n", agent.get_full_name())
    assert list(Delivery.objects.values_list("event", flat=True)) == ["NEW_MESSAGE"]
    assert "Send and take over" not in text_of(client, at(thread))


@pytest.mark.parametrize("content", ["", "   ", "x" * 65_536])
def test_an_invalid_answer_is_rejected_and_stays_in_the_box(
    client: Client, thread: Thread, content: str
) -> None:
    page = client.post(at(thread, "reply"), {"content": content})
    assert "Not sent" in page.content.decode()
    assert fields_of(page)["content"] == content
    assert kinds(thread) == []


def test_the_buttons_take_the_thread_over_and_return_it(
    client: Client, thread: Thread, agent: User
) -> None:
    client.post(at(thread, "mode"), {"to": "AGENT"})
    thread.refresh_from_db()
    assert (thread.escalated, thread.taken_over_by) == (True, agent)
    client.post(at(thread, "mode"), {"to": "AI"})
    thread.refresh_from_db()
    assert (thread.escalated, thread.taken_over_by) == (False, None)


@pytest.mark.parametrize(("value", "resolved"), [("1", True), ("0", False)])
def test_a_thread_can_be_resolved_and_reopened(
    client: Client, thread: Thread, value: str, resolved: bool
) -> None:
    Thread.objects.filter(pk=thread.pk).update(resolved=not resolved)
    client.post(at(thread, "resolve"), {"resolved": value})
    assert Thread.objects.get(pk=thread.pk).resolved is resolved


def test_details_can_be_changed(client: Client, thread: Thread) -> None:
    form = {"tags": "billing, vip ,billing,", "internal_notes": "calls back", "important": "on"}
    client.post(at(thread, "details"), fields_of(client.get(at(thread))) | form)
    thread.refresh_from_db()
    assert (thread.tags, thread.internal_notes) == (["billing", "vip"], "calls back")
    assert (thread.important, thread.archived) == (True, False)


def test_only_changed_fields_are_written(client: Client, thread: Thread) -> None:
    form = fields_of(client.get(at(thread)))
    Thread.objects.filter(pk=thread.pk).update(internal_notes="a colleague's")
    page = client.get(at(thread))
    client.post(at(thread, "details"), fields_of(page) | {"title": "new"})
    thread.refresh_from_db()
    assert (thread.title, thread.internal_notes) == ("new", "a colleague's")
    assert form["internal_notes"] == ""


def test_a_too_long_title_is_rejected_and_kept_in_the_form(client: Client, thread: Thread) -> None:
    page = client.post(at(thread, "details"), {"title": "x" * 256})
    assert page.status_code == 200
    assert fields_of(page)["title"] == "x" * 256
    assert Thread.objects.get(pk=thread.pk).title == ""


def test_a_poll_returns_new_messages_or_nothing(client: Client, thread: Thread) -> None:
    MessageFactory(thread=thread, content="first")
    first = client.get(at(thread, "messages"), {"after": "0"})
    assert "first" in first.json()["html"]
    assert first.json()["position"] == 1
    again = client.get(
        at(thread, "messages"), {"after": "1"}, headers={"If-None-Match": first["ETag"]}
    )
    assert (again.status_code, again.content) == (304, b"")
    client.post(at(thread, "reply"), {"content": "<i>second</i>"})
    new = client.get(
        at(thread, "messages"), {"after": "1"}, headers={"If-None-Match": first["ETag"]}
    )
    assert new.status_code == 200
    assert "&lt;i&gt;second&lt;/i&gt;" in new.json()["html"]
    assert "first" not in new.json()["html"]
    assert (new.json()["position"], new.json()["mode"]) == (3, "AGENT")


@pytest.mark.parametrize("after", ["", "x", "-1", "9" * 30])
def test_a_poll_after_an_unknown_message_is_harmless(
    client: Client, thread: Thread, after: str
) -> None:
    MessageFactory(thread=thread)
    assert client.get(at(thread, "messages"), {"after": after}).status_code == 200


def test_seen_resets_the_count_of_unread_messages(client: Client, thread: Thread) -> None:
    Thread.objects.filter(pk=thread.pk).update(unread_messages_count=3)
    text_of(client, at(thread))
    assert Thread.objects.get(pk=thread.pk).unread_messages_count == 3  # a GET changes nothing
    assert client.post(at(thread, "seen")).status_code == 204
    assert Thread.objects.get(pk=thread.pk).unread_messages_count == 0


@pytest.fixture
def draft(thread: Thread) -> Draft:
    return Draft.objects.create(message=MessageFactory(thread=thread), content="came too late")


def test_a_draft_is_deleted_once_it_is_used_as_an_answer(
    client: Client, thread: Thread, draft: Draft
) -> None:
    form = fields_of(client.get(at(thread), {"draft": str(draft.pk)}))
    assert form["content"] == "came too late"
    assert set(form["draft"]) == {str(draft.pk)}  # in the answer's form and in the draft's form
    client.post(at(thread, "reply"), {"content": form["content"], "draft": str(draft.pk)})
    assert not Draft.objects.exists()
    assert kinds(thread)[-1] == "AGENT_MESSAGE"


def test_a_draft_can_be_discarded(client: Client, thread: Thread, draft: Draft) -> None:
    client.post(at(thread, "discard"), {"draft": str(draft.pk)})
    assert not Draft.objects.exists()
    assert kinds(thread) == ["USER_MESSAGE"]


@pytest.mark.parametrize("name", ["reply", "mode", "resolve", "details", "seen", "discard"])
def test_a_get_changes_nothing(client: Client, thread: Thread, name: str) -> None:
    assert client.get(at(thread, name)).status_code == 405


@pytest.mark.parametrize("name", ["reply", "mode", "resolve", "details", "seen", "discard"])
def test_a_post_without_a_csrf_token_is_rejected(agent: User, thread: Thread, name: str) -> None:
    strict = signed_in(agent, enforce_csrf_checks=True)
    given: dict[str, Any] = {"content": "hello", "to": "AGENT", "resolved": "1", "title": "x"}
    assert strict.post(at(thread, name), given).status_code == 403
    thread.refresh_from_db()
    assert (thread.escalated, thread.resolved, thread.title) == (False, False, "")


def test_the_sidebar_links_to_related_pages(client: Client, thread: Thread) -> None:
    lead = LeadFactory(thread=thread)
    text = text_of(client, at(thread))
    assert reverse("admin:conversations_lead_change", args=[lead.pk]) in text


def test_a_failed_answer_is_sent_when_the_same_form_is_submitted_again(
    agent: User, client: Client, thread: Thread
) -> None:
    browser = signed_in(agent, raise_request_exception=False)
    form = fields_of(client.get(at(thread))) | {"content": "Let me look"}
    with refusing(Message):
        assert browser.post(at(thread, "reply"), form).status_code == 500
    assert kinds(thread) == []
    assert browser.post(at(thread, "reply"), form).status_code == 302
    assert kinds(thread) == ["SYSTEM_MESSAGE", "AGENT_MESSAGE"]
    assert "Let me look" in text_of(client, at(thread))


def test_a_resubmitted_form_with_another_text_keeps_the_new_text_in_the_box(
    client: Client, thread: Thread
) -> None:
    form = fields_of(client.get(at(thread))) | {"content": "first"}
    client.post(at(thread, "reply"), form)
    page = client.post(at(thread, "reply"), form | {"content": "second"})
    assert "already sent with another text" in page.content.decode()
    again = fields_of(page)
    assert again["content"] == "second"
    client.post(at(thread, "reply"), again)
    sent = Message.objects.filter(thread=thread, message_type=MessageType.AGENT_MESSAGE)
    assert list(sent.order_by("position").values_list("content", flat=True)) == ["first", "second"]


def test_a_form_token_is_valid_only_in_its_own_thread(client: Client, thread: Thread) -> None:
    other = ThreadFactory(chatbot=thread.chatbot)
    form = fields_of(client.get(at(thread))) | {"content": "hello"}
    for place in (thread, other):
        assert client.post(at(place, "reply"), form).status_code == 302
        assert kinds(place).count("AGENT_MESSAGE") == 1


@pytest.mark.parametrize("token", ["", "x", "0" * 33, "\0"])
def test_a_forged_form_token_causes_no_server_error(
    client: Client, thread: Thread, token: str
) -> None:
    answer = client.post(at(thread, "reply"), {"content": "hello", "form_token": token})
    assert answer.status_code in (200, 302)


def test_a_double_click_sends_once(client: Client, thread: Thread) -> None:
    form = fields_of(client.get(at(thread))) | {"content": "hello"}
    for _ in range(2):
        assert client.post(at(thread, "reply"), form).status_code == 302
    assert kinds(thread).count("AGENT_MESSAGE") == 1
