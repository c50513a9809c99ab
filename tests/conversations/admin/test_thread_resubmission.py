"""A form on a thread's page can be submitted twice, with the same text or different text."""

from django.test import Client

from accounts.models import User
from conversations.models import Message, Thread
from conversations.models.message import MessageType
from tests.conversations.admin.thread_page import at, kinds, text_of
from tests.factories.staff import signed_in
from tests.pages import fields_of
from tests.refusing import refusing


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


def test_a_resubmitted_form_with_different_text_keeps_it_in_the_reply_box(
    client: Client, thread: Thread
) -> None:
    form = fields_of(client.get(at(thread))) | {"content": "first"}
    client.post(at(thread, "reply"), form)
    page = client.post(at(thread, "reply"), form | {"content": "second"})
    assert "already used to send another text" in page.content.decode()
    again = fields_of(page)
    assert again["content"] == "second"
    client.post(at(thread, "reply"), again)
    sent = Message.objects.filter(thread=thread, message_type=MessageType.AGENT_MESSAGE)
    assert list(sent.order_by("position").values_list("content", flat=True)) == ["first", "second"]


def test_a_double_click_sends_once(client: Client, thread: Thread) -> None:
    form = fields_of(client.get(at(thread))) | {"content": "hello"}
    for _ in range(2):
        assert client.post(at(thread, "reply"), form).status_code == 302
    assert kinds(thread).count("AGENT_MESSAGE") == 1
