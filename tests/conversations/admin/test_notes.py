"""Internal notes: colleagues see them and are notified, and nothing else contains them."""

from uuid import uuid4

import pytest
from django.test import Client

from accounts.models import Mail, User
from chatbots.models import Chatbot
from conversations.admin.conversation import ENTRIES
from conversations.models import Thread, TimelineEntry
from conversations.services import history, visitor_message
from tests.conftest import Api
from tests.conversations.admin.test_assignment import sam  # noqa: F401 - a fixture
from tests.conversations.admin.test_inbox import INBOX
from tests.conversations.admin.thread_page import at, text_of
from tests.factories.accounts import MembershipFactory, UserFactory
from tests.factories.chatbots import ChatbotMemberFactory
from tests.factories.conversations import LeadFactory, MessageFactory
from tests.factories.webhooks import EndpointFactory
from webhooks.models import Delivery

SECRET = "zebracrossing"


def colleague(chatbot: Chatbot, name: str) -> User:
    """Add a person to the chatbot."""
    email = f"{name.lower().replace(' ', '.').strip('()')}@example.com"
    person = UserFactory(name=name, email=email)
    MembershipFactory(account=chatbot.account, user=person)
    ChatbotMemberFactory(chatbot=chatbot, user=person)
    return person


def test_a_note_is_shown_with_its_author_and_a_double_click_adds_it_once(
    client: Client, thread: Thread, agent: User
) -> None:
    MessageFactory(thread=thread)
    given = {"text": f"<b>{SECRET}</b>", "form_token": uuid4().hex}
    for _ in range(2):
        client.post(at(thread, "note"), given)
    client.post(at(thread, "note"), {"text": " "})
    page = text_of(client, at(thread))
    assert page.count(f"&lt;b&gt;{SECRET}&lt;/b&gt;") == 1
    assert f"<b>{agent.get_full_name()}</b> internal note" in page
    [entry] = TimelineEntry.objects.filter(thread=thread)
    assert (entry.kind, entry.author) == ("NOTE", agent)


def test_a_page_shows_a_bounded_number_of_notes(client: Client, thread: Thread) -> None:
    TimelineEntry.objects.bulk_create(
        TimelineEntry(thread=thread, position=0, kind="NOTE", text=f"note {number}.")
        for number in range(ENTRIES + 10)
    )
    page = text_of(client, at(thread))
    assert page.count("bubble note") == ENTRIES
    assert f"note {ENTRIES + 9}." in page


def test_a_note_reaches_no_response_webhook_prompt_or_export(
    client: Client, api: Api, thread: Thread
) -> None:
    EndpointFactory(chatbot=thread.chatbot)
    LeadFactory(thread=thread)
    client.post(at(thread, "note"), {"text": SECRET})
    client.post(at(thread, "assign"), {"assignee": ""})
    bot = thread.chatbot_id
    said = visitor_message.send(visitor_message.receive(bot, thread.pk, "Hello"))
    client.post(at(thread, "reply"), {"content": "Let me look"})
    chat = f"/v1/chatting/{bot}"
    answers = [
        api.get(f"{chat}/{path}")
        for path in (f"thread/{thread.pk}", f"thread/{thread.pk}/messages", "threads")
    ]
    exports = [
        client.get(f"{address}export/{kind}/")
        for address in (INBOX, "/admin/conversations/lead/")
        for kind in ("csv", "json")
    ]
    assert {answer.status_code for answer in [*answers, *exports]} == {200}
    texts = [answer.content.decode() for answer in answers]
    texts += [b"".join(answer.streaming_content).decode() for answer in exports]  # type: ignore[attr-defined]
    texts += [bytes(body).decode() for body in Delivery.objects.values_list("body", flat=True)]
    texts += [turn.content for turn in history.turns(said.messages[-1], "", 40)]
    assert len(texts) >= 10
    assert not [text for text in texts if SECRET in text]
    assert SECRET in text_of(client, at(thread))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        *(("@Sam, please look", True), ("please look, @sam", True), ("@Sam Jones!", True)),
        ("@sam.jones@example.com", True),
        *(("@Samuel", False), ("me@sam", False), ("Sam", False), ("@Kim", False)),
    ],
)
def test_a_mention_emails_the_colleague(
    client: Client,
    chatbot: Chatbot,
    thread: Thread,
    sam: User,  # noqa: F811 - the fixture
    text: str,
    told: bool,
) -> None:
    sam.name, sam.email = "Sam Jones", "sam.jones@example.com"
    sam.save()
    UserFactory(name="Sam Stranger")  # belongs to no account
    client.post(at(thread, "note"), {"text": text})
    mails = Mail.objects.filter(account=chatbot.account, thread_id=thread.pk)
    assert [mail.to for mail in mails] == ([sam.email] if told else [])
    assert all(text in mail.body and thread.dashboard_url in mail.body for mail in mails)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("@Sam Jones", ["Sam Jones"]),
        ("@sam smith and @Sam Jones", ["Sam Jones", "Sam Smith"]),
        ("@Sam Jonesy", ["Sam Jones", "Sam Smith"]),
        ("@sam.jones@example.com", ["Sam Jones"]),
        ("@Sam (Berlin), please", ["Sam (Berlin)"]),
        ("@ä " * 10 + "@Kim", []),  # only the first ten mentions count
        ("@" * 60_000, []),
    ],
)
def test_the_longest_name_that_fits_decides_who_is_mentioned(
    client: Client, chatbot: Chatbot, thread: Thread, text: str, told: list[str]
) -> None:
    if "Berlin" in text:
        colleague(chatbot, "Sam (Berlin)")
    for name in ("Sam Jones", "Sam Smith", "Kim"):
        colleague(chatbot, name)
    client.post(at(thread, "note"), {"text": text})
    sent = Mail.objects.filter(thread_id=thread.pk).values_list("to", flat=True)
    assert sorted(User.objects.filter(email__in=sent).values_list("name", flat=True)) == told
