"""Assigning conversations: who takes care of one, who may, and what two people at once see."""

from html import unescape

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import Change, User
from chatbots.models import Chatbot
from conversations.models import Thread, TimelineEntry
from tests.conftest import Api
from tests.conversations.admin.test_inbox import INBOX, talk, titles
from tests.conversations.admin.thread_page import at, text_of
from tests.factories.accounts import MembershipFactory, UserFactory
from tests.factories.chatbots import ChatbotFactory, ChatbotMemberFactory
from tests.factories.conversations import ThreadFactory, from_visitor
from tests.factories.staff import signed_in


@pytest.fixture
def sam(chatbot: Chatbot) -> User:
    """A colleague who may answer in the chatbot's conversations."""
    sam = UserFactory(name="Sam")
    MembershipFactory(account=chatbot.account, user=sam)
    ChatbotMemberFactory(chatbot=chatbot, user=sam)
    return sam


def acts(thread: Thread) -> list[str]:
    """Say what the thread's timeline shows."""
    return [entry.words for entry in TimelineEntry.objects.filter(thread=thread).order_by("id")]


def assign(client: Client, thread: Thread, person: User | None, seen: User | None = None) -> str:
    """Assign a thread on its page. Returns the page that follows."""
    given = {"assignee": person.pk if person else "", "seen": seen.pk if seen else ""}
    return unescape(client.post(at(thread, "assign"), given, follow=True).content.decode())


@pytest.mark.parametrize(
    ("button", "given"), [("mode", {"to": "AGENT"}), ("reply", {"content": "Let me look"})]
)
def test_taking_over_and_answering_assign_the_thread(
    client: Client, thread: Thread, agent: User, sam: User, button: str, given: dict[str, str]
) -> None:
    for person in (agent, sam):
        signed_in(person).post(at(thread, button), given)
        assert Thread.objects.get(pk=thread.pk).assignee == person
    client.post(at(thread, "mode"), {"to": "AI"})
    assert Thread.objects.get(pk=thread.pk).assignee == sam, "returning to the AI keeps it"
    names = [person.get_full_name() for person in (agent, sam)]
    assert acts(thread) == [f"{name} took this conversation" for name in names]


def test_assigning_is_in_the_timeline_and_in_the_trail_but_not_in_the_api(
    client: Client, api: Api, thread: Thread, agent: User, sam: User
) -> None:
    path = f"/v1/chatting/{thread.chatbot_id}/thread/{thread.pk}"
    before = api.get(path)
    assert before.status_code == 200
    assert "assigned to <bdi>Sam" in assign(client, thread, sam)
    assert "unassigned" in assign(client, thread, None, seen=sam)
    by = f"by {agent.get_full_name()}"
    assert acts(thread) == [f"Assigned to Sam {by}", f"Unassigned {by}"]
    assert all(words in text_of(client, at(thread)) for words in acts(thread))
    trail = Change.objects.filter(object_pk=str(thread.pk)).order_by("id")
    assert [one.changes for one in trail] == [
        {"assignee": [None, "Sam"]},
        {"assignee": ["Sam", None]},
    ]
    assert {(one.actor, one.object_repr) for one in trail} == {(agent, f"conversation {thread.pk}")}
    assert api.get(path).content == before.content


def test_the_second_of_two_people_who_assign_at_once_learns_of_the_first(
    client: Client, thread: Thread, agent: User, sam: User
) -> None:
    assign(client, thread, agent)
    page = assign(signed_in(sam), thread, sam)
    assert f"a colleague has assigned this conversation to {agent.get_full_name()}" in page
    assert Thread.objects.get(pk=thread.pk).assignee == agent
    assert len(acts(thread)) == 1
    assign(signed_in(sam), thread, sam, seen=agent)
    assert Thread.objects.get(pk=thread.pk).assignee == sam


def test_a_thread_is_assigned_only_to_people_who_may_answer_in_it(
    client: Client, chatbot: Chatbot, thread: Thread, sam: User
) -> None:
    elsewhere = ChatbotFactory(account=chatbot.account)
    stranger = ChatbotFactory().account.owner
    assert "may not answer here" in assign(client, thread, stranger)
    other = talk(elsewhere, "elsewhere")
    keys = {"action": "assign_selected", "_selected_action": [thread.pk, other.pk]}
    page = client.post(INBOX, keys)
    assert "Assign 2 conversations" in page.content.decode()
    assert str(stranger.pk) not in page.content.decode()
    client.post(INBOX, keys | {"assignee": stranger.pk})
    assert not Thread.objects.exclude(assignee=None).exists()
    done = client.post(INBOX, keys | {"assignee": sam.pk}, follow=True).content.decode()
    assert "1 conversation assigned to Sam" in done
    assert "1 conversation skipped: Sam may not answer there" in done
    assert Thread.objects.get(assignee=sam) == thread


def test_assigning_selected_threads_says_how_many_were_already_somebody_elses(
    client: Client, chatbot: Chatbot, agent: User, sam: User
) -> None:
    people = (None, sam, agent, agent)
    rows = [talk(chatbot, str(number), assignee=one) for number, one in enumerate(people)]
    keys = [thread.pk for thread in rows]
    given = {"action": "assign_selected", "_selected_action": keys, "assignee": sam.pk}
    page = client.post(INBOX, given, follow=True).content.decode()
    assert "4 conversations assigned to Sam, 2 of which had been assigned to somebody else" in page
    assert set(Thread.objects.values_list("assignee", flat=True)) == {sam.pk}


def test_a_colleague_who_has_left_stays_the_assignee_until_somebody_else_is_chosen(
    client: Client, thread: Thread, sam: User
) -> None:
    assign(client, thread, sam)
    sam.memberships.all().delete()
    assert f'<option value="{sam.pk}" selected>Sam</option>' in text_of(client, at(thread))
    assert "may not answer here" in assign(client, thread, sam, seen=sam)
    assert Thread.objects.get(pk=thread.pk).assignee == sam
    assign(client, thread, None, seen=sam)
    assert Thread.objects.get(pk=thread.pk).assignee is None


@pytest.mark.parametrize(
    ("value", "shown"),
    [("me", ["mine"]), ("nobody", ["new"]), ("sam", ["sam's"]), ("x", [])],
)
def test_the_list_is_filtered_by_assignee(
    client: Client, chatbot: Chatbot, agent: User, sam: User, value: str, shown: list[str]
) -> None:
    for title, person in (("mine", agent), ("sam's", sam), ("new", None)):
        talk(chatbot, title, assignee=person)
    wanted = sam.pk if value == "sam" else value
    assert titles(client, f"?view=open&assignee={wanted}") == shown


def test_an_unread_mark_lists_the_thread_until_its_page_is_seen(
    client: Client, chatbot: Chatbot
) -> None:
    thread = ThreadFactory(chatbot=chatbot, title="later")
    answer = client.post(at(thread, "unread"))
    assert answer["Location"].startswith(reverse("admin:conversations_thread_changelist"))
    assert titles(client, "?view=unread") == ["later"]
    client.post(at(thread, "seen"))
    assert titles(client, "?view=unread") == []
    client.post(INBOX, {"action": "unread_selected", "_selected_action": [thread.pk]})
    assert titles(client, "?view=unread") == ["later"]


def test_the_timeline_says_who_resolved_and_what_reopened(
    client: Client, thread: Thread, agent: User
) -> None:
    for resolved in ("1", "1", "0", "1"):
        client.post(at(thread, "resolve"), {"resolved": resolved})
    from_visitor(thread, "One more thing")
    name = agent.get_full_name()
    assert acts(thread) == [
        f"Resolved by {name}",
        f"Reopened by {name}",
        f"Resolved by {name}",
        "Reopened: the visitor wrote again",
    ]
