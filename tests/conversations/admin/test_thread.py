"""A thread's page: the history, the agent's answers, and the thread's details."""

import re
from datetime import UTC, datetime, timedelta
from html import unescape
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import User
from chatbots.models import Chatbot
from conversations.models import Draft, Message, Thread
from conversations.models.message import MessageType
from conversations.services import escalation
from conversations.services.threads import update
from tests.conversations.admin.thread_page import at, kinds, text_of
from tests.factories.conversations import MessageFactory, ThreadFactory, from_visitor
from tests.factories.staff import signed_in
from tests.factories.webhooks import EndpointFactory
from tests.pages import fields_of
from webhooks.models import Delivery

BUTTONS = ("reply", "mode", "resolve", "assign", "unread", "important", "details", "tag", "untag")
BUTTONS += ("note", "seen", "discard")
HOSTILE = '<img src=x onerror=alert(1)> see https://example.com/?a=1&b="x"'


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
    assert '<a href="https://example.com/?a=1&amp;b=" rel="noopener nofollow noreferrer">' in text


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
        older = re.search(r'href="([^"]+\?before=[^"]+)"', text)
        address = unescape(older[1]) if older else None
    assert shown == [list(range(71, 121)), list(range(21, 71)), list(range(1, 21))]


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


def test_a_text_that_two_people_have_changed_is_shown_before_it_is_replaced(
    client: Client, thread: Thread
) -> None:
    form = fields_of(client.get(at(thread)))
    update(thread.pk, {"internal_notes": "one\ntwo", "visitor_name": "Anna"})
    mine = {"internal_notes": "mine\r\ntoo", "visitor_name": "Anna", "title": "new"}
    page = client.post(at(thread, "details"), form | mine)
    assert page.text.count("Changed while you were editing") == 1
    assert "replace the saved value, which is: one\ntwo" in page.text
    assert fields_of(page)["internal_notes"] == "mine\ntoo"
    thread.refresh_from_db()
    assert (thread.internal_notes, thread.title) == ("one\ntwo", "")
    assert client.post(at(thread, "details"), fields_of(page)).status_code == 302
    thread.refresh_from_db()
    assert (thread.internal_notes, thread.title) == ("mine\ntoo", "new")


def test_the_page_links_to_the_previous_and_the_next_waiting_conversation(
    client: Client, chatbot: Chatbot
) -> None:
    def links(thread: Thread) -> dict[str, str]:
        found = re.findall(r'href="([^"]+)" rel="(prev|next)"', text_of(client, at(thread)))
        return {name: address for address, name in found}

    now = timezone.now()
    first, second, third = (
        ThreadFactory(chatbot=chatbot, escalated=True, waiting_since=now + timedelta(seconds=n))
        for n in range(3)
    )
    ThreadFactory(escalated=True, waiting_since=now)
    assert links(first) == {"next": at(second)}
    assert links(second) == {"prev": at(first), "next": at(third)}
    assert links(third) == {"prev": at(second)}
    assert links(ThreadFactory(chatbot=chatbot)) == {"next": at(first)}


def test_a_draft_is_deleted_once_it_is_used_as_an_answer(client: Client, thread: Thread) -> None:
    draft = Draft.objects.create(message=MessageFactory(thread=thread), content="came too late")
    form = fields_of(client.get(at(thread), {"draft": str(draft.pk)}))
    assert form["content"] == "came too late"
    assert set(form["draft"]) == {str(draft.pk)}  # the draft field of every form holds this id
    client.post(at(thread, "reply"), {"content": form["content"], "draft": str(draft.pk)})
    assert not Draft.objects.exists()
    assert kinds(thread)[-1] == "AGENT_MESSAGE"


@pytest.mark.parametrize("name", BUTTONS)
def test_a_post_without_a_csrf_token_is_rejected(agent: User, thread: Thread, name: str) -> None:
    strict = signed_in(agent, enforce_csrf_checks=True)
    given: dict[str, Any] = {"content": "hello", "to": "AGENT", "resolved": "1", "title": "x"}
    assert strict.post(at(thread, name), given).status_code == 403
    thread.refresh_from_db()
    assert (thread.escalated, thread.resolved, thread.title) == (False, False, "")


def test_send_and_resolve_leads_to_the_next_waiting_conversation(
    client: Client, chatbot: Chatbot
) -> None:
    def waiting() -> Thread:
        return ThreadFactory(chatbot=chatbot, escalated=True, waiting_since=timezone.now())

    first, second = waiting(), waiting()
    given = {"content": "Done", "then": "resolve"}
    answer = client.post(at(first, "reply"), given)
    assert answer["Location"] == at(second)
    assert "Sent and resolved" in text_of(client, at(second))
    answer = client.post(at(second, "reply"), given)
    assert answer["Location"].endswith("?view=waiting")
    assert Thread.objects.filter(resolved=True).count() == 2


def test_the_header_says_waiting_again_when_the_visitor_writes_again(
    client: Client, thread: Thread, agent: User
) -> None:
    escalation.toggle(thread.pk)
    assert "waiting under 1 min" in text_of(client, at(thread))
    client.post(at(thread, "reply"), {"content": "Let me look"})
    assert "waiting under" not in text_of(client, at(thread))
    from_visitor(thread, "Thanks")
    text = text_of(client, at(thread))
    assert "waiting under 1 min" in text
    assert f"taken over by <bdi>{agent.get_full_name()}" in text


def test_a_line_divides_the_days(client: Client, thread: Thread) -> None:
    for day in (1, 1, 2):
        message = MessageFactory(thread=thread)
        at_noon = datetime(2026, 5, day, 12, tzinfo=UTC)
        Message.objects.filter(pk=message.pk).update(created_at=at_noon)
    found = re.findall(r'class="day">.*?>(.*?)<', text_of(client, at(thread)))
    assert found == ["1 May 2026", "2 May 2026"]
