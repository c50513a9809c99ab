"""A thread's page shows contact details, reactions, delivery counts and drafts."""

import re

import pytest
from django.contrib.auth.models import Permission
from django.test import Client

from chatbots.models import Chatbot
from conversations.models import Draft, Thread, Visitor
from conversations.models.message import MessageType
from tests.conversations.admin.thread_page import at, text_of
from tests.factories.conversations import MessageFactory, ThreadFactory, VisitorFactory
from tests.factories.webhooks import DeliveryFactory


def test_the_visitors_contact_details_are_shown_even_without_the_right_to_answer(
    client: Client, chatbot: Chatbot
) -> None:
    visitor = VisitorFactory(
        chatbot=chatbot, name="Anna <b>", email="a@b.example", phone="+49 30 1", external_id="v-1"
    )
    thread = ThreadFactory(chatbot=chatbot, visitor=visitor)
    Permission.objects.get(codename="change_thread").group_set.clear()
    text = text_of(client, at(thread))
    assert "visitor_name" not in text
    for label, value in (
        ("Name", "Anna &lt;b&gt;"),
        ("Email", "a@b.example"),
        ("Phone", "+49 30 1"),
    ):
        assert f"<dt>{label}</dt><dd>{value}</dd>" in text
    Visitor.objects.update(name="", email="", phone="")
    text = text_of(client, at(thread))
    assert not [label for label in ("Name", "Email", "Phone") if f"<dt>{label}</dt>" in text]


@pytest.mark.parametrize(
    ("reaction", "shown", "color"),
    [
        ("POSITIVE", "thumb up", "good"),
        ("negative", "thumb down", "bad"),
        ("<3", "&lt;3", ""),
        ("", None, ""),
        (None, None, ""),
    ],
)
def test_a_reaction_is_a_word_with_a_color(
    client: Client, thread: Thread, reaction: str | None, shown: str | None, color: str
) -> None:
    MessageFactory(thread=thread, message_type=MessageType.AI_MESSAGE, reaction=reaction)
    found = re.findall(
        r'Reaction: <span class="state (\w*)">(.*?)</span>', text_of(client, at(thread))
    )
    assert found == ([(color, shown)] if shown else [])


def test_the_deliveries_of_the_thread_are_counted_in_words(client: Client, thread: Thread) -> None:
    for state, count in (("SUCCESS", 2), ("FAILED", 1)):
        for _ in range(count):
            DeliveryFactory(chatbot=thread.chatbot, thread_id=thread.pk, state=state, due_at=None)
    text = text_of(client, at(thread))
    assert "1 failed, 2 sent" in text


def test_a_draft_has_buttons_only_for_people_who_may_answer(client: Client, thread: Thread) -> None:
    Draft.objects.create(message=MessageFactory(thread=thread), content="came too late")

    def shown() -> list[bool]:
        poll = client.get(at(thread, "messages"), {"after": "0"}).json()["html"]
        texts = (text_of(client, at(thread)), poll)
        assert all("came too late" in text for text in texts)
        return ["discard" in text for text in texts]

    assert shown() == [True, True]
    Permission.objects.get(codename="change_thread").group_set.clear()
    assert shown() == [False, False]
