"""A thread's page shows contact details, reactions, delivery counts and drafts."""

from django.contrib.auth.models import Permission
from django.test import Client

from chatbots.models import Chatbot
from conversations.models import Draft, Thread, Visitor
from tests.conversations.admin.thread_page import at, text_of
from tests.factories.conversations import MessageFactory, ThreadFactory, VisitorFactory


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
