"""Canned replies: agents manage them, and insert them with the names filled in."""

from html import unescape

import pytest
from django.test import Client
from django.urls import reverse

from chatbots.models import Chatbot
from conversations.models import CannedReply, Thread
from tests.conversations.admin.thread_page import at, text_of
from tests.factories.chatbots import ChatbotFactory
from tests.factories.conversations import ThreadFactory, VisitorFactory
from tests.pages import submit

ADD = reverse("admin:conversations_cannedreply_add")
LIST = reverse("admin:conversations_cannedreply_changelist")


def test_an_agent_adds_a_reply_that_only_the_accounts_conversations_offer(
    client: Client, thread: Thread
) -> None:
    submit(client, ADD, name="refund", text="We refund you.")
    assert "already has a canned reply" in submit(client, ADD, name="refund", text="x").text
    elsewhere = ChatbotFactory()
    CannedReply.objects.create(account=elsewhere.account, name="foreign", text="x")
    assert CannedReply.objects.get(name="refund").account == thread.chatbot.account
    for page in (client.get(LIST).text, text_of(client, at(thread))):
        assert "/refund" in page
        assert "/foreign" not in page
    answer = submit(client, ADD, name="y", text="y", account=elsewhere.account_id)
    assert answer.status_code == 200, "another account is refused"


def test_the_number_and_the_length_of_an_accounts_replies_are_limited(
    client: Client, chatbot: Chatbot
) -> None:
    CannedReply.objects.bulk_create(
        CannedReply(account=chatbot.account, name=f"reply-{n}", text="x") for n in range(199)
    )
    assert "at most 5000 characters" in submit(client, ADD, name="last", text="x" * 5_001).text
    submit(client, ADD, name="last", text="x" * 5_000)
    page = submit(client, ADD, name="one-more", text="x").text
    assert "an account can have at most 200 canned replies" in page
    last = CannedReply.objects.get(name="last")
    change = reverse("admin:conversations_cannedreply_change", args=[last.pk])
    submit(client, change, text="changed")
    assert CannedReply.objects.get(name="last").text == "changed"


@pytest.mark.parametrize(
    ("visitor", "text", "filled"),
    [
        ("Anna", "Hello {visitor}, I am {agent} of {bot}.", "Hello Anna, I am Kim of Shop."),
        ("", "Hello {visitor}, welcome", "Hello, welcome"),
        ("{agent}", "{visitor} {price} {}", "{agent} {price} {}"),
    ],
)
def test_the_names_are_filled_in(
    client: Client, chatbot: Chatbot, visitor: str, text: str, filled: str
) -> None:
    Chatbot.objects.update(name="Shop")
    chatbot.account.owner.name = "Kim"
    chatbot.account.owner.save()
    thread = ThreadFactory(chatbot=chatbot, visitor=VisitorFactory(chatbot=chatbot, name=visitor))
    reply = CannedReply.objects.create(account=chatbot.account, name="hi", text=text)
    page = unescape(text_of(client, f"{at(thread)}?canned={reply.pk}"))
    assert f">{filled}</textarea>" in page
