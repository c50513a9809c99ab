"""An open thread page polls for changes, names other agents, and holds back outdated answers."""

import pytest
from django.test import Client

from accounts.models import User
from conversations.admin.conversation import PAGE
from conversations.models import Draft, Message, Thread, TimelineEntry
from conversations.services import agent_message
from tests.conversations.admin.thread_page import at, kinds
from tests.factories.conversations import MessageFactory
from tests.factories.staff import signed_in, superuser
from tests.pages import fields_of
from tests.refusing import refusing


def test_a_poll_returns_new_messages_or_nothing(
    client: Client, agent: User, thread: Thread
) -> None:
    news = at(thread, "messages")
    MessageFactory(thread=thread, content="first")
    first = client.get(news, {"after": "0"})
    assert "first" in first.json()["html"]
    assert first.json()["position"] == 1
    seen = {"If-None-Match": first["ETag"]}
    again = client.get(news, {"after": "1"}, headers=seen)
    assert (again.status_code, again.content) == (304, b"")
    client.post(at(thread, "reply"), {"content": "<i>second</i>"})
    new = client.get(news, {"after": "1"}, headers=seen).json()
    assert "&lt;i&gt;second&lt;/i&gt;" in new["html"]
    assert "first" not in new["html"]
    assert new["position"] == 3
    assert new["state"].startswith(f"escalated {agent.pk} {agent.pk}")


def test_a_poll_reports_that_a_draft_was_stored_or_discarded(
    client: Client, thread: Thread
) -> None:
    def news(tag: str) -> tuple[str, str]:
        """Poll, assert that there are changes but no new messages, and return state and ETag."""
        after = {"after": thread.last_position}
        answer = client.get(at(thread, "messages"), after, headers={"If-None-Match": tag})
        assert (answer.status_code, answer.json()["html"].strip()) == (200, "")
        assert f'data-state="{answer.json()["state"]}"' in client.get(at(thread)).text
        return answer.json()["state"], answer["ETag"]

    message = MessageFactory(thread=thread)
    before, tag = news("")
    draft = Draft.objects.create(message=message, content="came too late")
    stored, tag = news(tag)
    client.post(at(thread, "discard"), {"draft": str(draft.pk)})
    assert news(tag)[0] == before != stored


@pytest.mark.parametrize(
    ("position", "count"),
    [(0, 0), (0, 1), (0, PAGE - 1), (0, PAGE), (0, PAGE + 1), (1, PAGE), (1, PAGE + 1)],
)
def test_a_page_and_a_poll_agree_on_the_newest_entry(
    client: Client, thread: Thread, position: int, count: int
) -> None:
    TimelineEntry.objects.create(thread=thread, position=position, kind="NOTE", text="x")
    numbers = range(1, count + 1)
    Message.objects.bulk_create(
        Message(thread=thread, position=number, message_type="USER_MESSAGE") for number in numbers
    )
    Thread.objects.update(last_position=count)
    state = client.get(at(thread, "messages")).json()["state"]
    assert f'data-state="{state}"' in client.get(at(thread)).text


def test_a_poll_names_the_other_agents(client: Client, thread: Thread) -> None:
    news = at(thread, "messages")
    first = client.get(news)
    assert first.json()["others"] == []
    colleague = superuser()
    assert len(signed_in(colleague).get(news).json()["others"]) == 1
    again = client.get(news, headers={"If-None-Match": first["ETag"]})
    assert again.json()["others"] == [colleague.get_full_name()]


def test_an_answer_from_an_outdated_page_is_held_back_and_its_text_is_kept(
    client: Client, thread: Thread
) -> None:
    MessageFactory(thread=thread)
    form = fields_of(client.get(at(thread)))
    agent_message.answer(thread.pk, agent=superuser(), content="It is <b>refunded</b>")
    page = client.post(at(thread, "reply"), form | {"content": "Let me look"})
    assert "another agent answered" in page.text
    assert page.text.count("It is &lt;b&gt;refunded&lt;/b&gt;") == 2  # in notice and history
    assert "Send anyway" in page.text
    assert fields_of(page)["content"] == "Let me look"
    assert kinds(thread).count("AGENT_MESSAGE") == 1
    client.post(at(thread, "reply"), fields_of(page))
    assert kinds(thread).count("AGENT_MESSAGE") == 2


@pytest.mark.parametrize("opened_at", ["message", "before"])
def test_an_answer_from_a_page_of_older_messages_is_held_back_too(
    client: Client, thread: Thread, opened_at: str
) -> None:
    first, *_, last = [MessageFactory(thread=thread) for _ in range(2 * PAGE)]
    wanted = first if opened_at == "message" else last
    page = client.get(at(thread), {opened_at: str(wanted.pk)}, follow=True)
    agent_message.answer(thread.pk, agent=superuser(name="Sam"), content="refund done")
    held = client.post(at(thread, "reply"), fields_of(page) | {"content": "we cannot refund"})
    assert "another agent answered" in held.text
    assert fields_of(held)["content"] == "we cannot refund"
    assert f'href="{at(thread)}?before=' in held.text  # not the form's URL
    assert kinds(thread).count("AGENT_MESSAGE") == 1


def test_a_form_that_is_submitted_again_sends_its_answer_once(agent: User, thread: Thread) -> None:
    browser = signed_in(agent, raise_request_exception=False)
    form = fields_of(browser.get(at(thread))) | {"content": "first"}
    with refusing(Message):
        assert browser.post(at(thread, "reply"), form).status_code == 500
    assert kinds(thread) == []
    for _ in range(2):
        assert browser.post(at(thread, "reply"), form).status_code == 302
    assert kinds(thread) == ["SYSTEM_MESSAGE", "AGENT_MESSAGE"]
    page = browser.post(at(thread, "reply"), form | {"content": "second"})
    assert "already used to send another text" in page.text
    browser.post(at(thread, "reply"), fields_of(page))
    sent = Message.objects.filter(message_type="AGENT_MESSAGE").order_by("position")
    assert list(sent.values_list("content", flat=True)) == ["first", "second"]
