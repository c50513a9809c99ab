"""An open thread page polls for changes, names other agents, and holds back outdated answers."""

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import User
from conversations.admin.conversation import PAGE
from conversations.models import Draft, Message, Thread
from conversations.services import agent_message
from tests.factories.conversations import MessageFactory
from tests.factories.staff import signed_in, superuser
from tests.pages import fields_of


def at(thread: Thread, name: str = "messages") -> str:
    return reverse(f"admin:conversations_thread_{name}", args=[thread.pk])


def answers(thread: Thread) -> int:
    return Message.objects.filter(thread=thread, message_type="AGENT_MESSAGE").count()


def test_a_poll_returns_new_messages_or_nothing(
    client: Client, agent: User, thread: Thread
) -> None:
    MessageFactory(thread=thread, content="first")
    first = client.get(at(thread), {"after": "0"})
    assert "first" in first.json()["html"]
    assert first.json()["position"] == 1
    again = client.get(at(thread), {"after": "1"}, headers={"If-None-Match": first["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    client.post(at(thread, "reply"), {"content": "<i>second</i>"})
    new = client.get(at(thread), {"after": "1"}, headers={"If-None-Match": first["ETag"]})
    assert new.status_code == 200
    assert "&lt;i&gt;second&lt;/i&gt;" in new.json()["html"]
    assert "first" not in new.json()["html"]
    assert (new.json()["position"], new.json()["state"]) == (3, f"escalated {agent.pk}")


def news(client: Client, thread: Thread, tag: str) -> tuple[str, str]:
    """Poll, assert that there are changes but no new messages, and return the state and ETag."""
    page, after = client.get(at(thread, "change")).text, {"after": thread.last_position}
    answer = client.get(at(thread), after, headers={"If-None-Match": tag})
    assert (answer.status_code, answer.json()["html"].strip()) == (200, "")
    state, tag = answer.json()["state"], answer["ETag"]
    assert f'data-state="{state}"' in page
    assert client.get(at(thread), after, headers={"If-None-Match": tag}).status_code == 304
    return state, tag


@pytest.mark.parametrize("older", [0, PAGE])
def test_a_poll_reports_that_a_draft_was_stored_or_discarded(
    client: Client, thread: Thread, older: int
) -> None:
    for _ in range(older):
        Draft.objects.create(message=MessageFactory(thread=thread), content="on an earlier page")
    messages = [MessageFactory(thread=thread) for _ in range(PAGE)]
    thread.refresh_from_db()
    seen, drafts = [news(client, thread, "")], []
    for message in (messages[0], messages[-1]):
        drafts.append(Draft.objects.create(message=message, content="came too late"))
        seen.append(news(client, thread, seen[-1][1]))
    for draft in drafts:
        client.post(at(thread, "discard"), {"draft": str(draft.pk)})
        seen.append(news(client, thread, seen[-1][1]))
    states = [state for state, _ in seen]
    assert len(set(states)) == 4
    assert states[0] == states[-1]


def test_a_poll_names_the_other_agents(client: Client, thread: Thread) -> None:
    first = client.get(at(thread))
    assert first.json()["others"] == []
    colleague = superuser()
    assert len(signed_in(colleague).get(at(thread)).json()["others"]) == 1
    again = client.get(at(thread), headers={"If-None-Match": first["ETag"]})
    assert again.json()["others"] == [colleague.get_full_name()]


def test_an_answer_from_an_outdated_page_is_held_back_and_its_text_is_kept(
    client: Client, thread: Thread
) -> None:
    MessageFactory(thread=thread)
    form = fields_of(client.get(at(thread, "change")))
    colleague = User.objects.create(email="sam@example.com", name="Sam")
    agent_message.answer(thread.pk, agent=colleague, content="It is <b>refunded</b>")
    page = client.post(at(thread, "reply"), form | {"content": "Let me look"})
    text = page.content.decode()
    assert "another agent answered" in text
    assert text.count("It is &lt;b&gt;refunded&lt;/b&gt;") == 2  # in the notice and in the history
    assert "Send anyway" in text
    assert fields_of(page)["content"] == "Let me look"
    assert answers(thread) == 1
    client.post(at(thread, "reply"), fields_of(page))
    assert answers(thread) == 2


@pytest.mark.parametrize("opened_at", ["message", "before"])
def test_an_answer_from_a_page_of_older_messages_is_held_back_too(
    client: Client, thread: Thread, opened_at: str
) -> None:
    first, *_, last = [MessageFactory(thread=thread) for _ in range(2 * PAGE)]
    wanted = first if opened_at == "message" else last
    page = client.get(at(thread, "change"), {opened_at: str(wanted.pk)}, follow=True)
    assert "Newest messages" in page.text
    agent_message.answer(thread.pk, agent=superuser(name="Sam"), content="refund done")
    held = client.post(at(thread, "reply"), fields_of(page) | {"content": "we cannot refund"})
    assert "another agent answered" in held.text
    assert fields_of(held)["content"] == "we cannot refund"
    assert f'href="{at(thread, "change")}?before=' in held.text  # not the form's URL
    assert answers(thread) == 1
