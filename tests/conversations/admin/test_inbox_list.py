"""The inbox has a footer, remembers its view, and shows a message if it is empty."""

import re
from datetime import timedelta

from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from chatbots.models import Chatbot
from conversations.models import Message
from conversations.models.message import MessageType
from tests.factories.chatbots import ChatbotFactory
from tests.factories.conversations import MessageFactory, ThreadFactory

INBOX = reverse("admin:conversations_thread_changelist")


def test_the_empty_inbox_names_the_last_answer(client: Client, chatbot: Chatbot) -> None:
    def empty() -> str:
        page = client.get(f"{INBOX}?view=waiting").content.decode()
        return re.sub(r"<[^>]*>", "", page.split('class="empty"')[1].split("</div>")[0])

    assert "Nobody is waiting. Show all open" in empty()
    people = (("Eva", ChatbotFactory(), 1), ("Kim", chatbot, 12), ("Sam", chatbot, 30))
    for name, bot, minutes in people:
        thread = ThreadFactory(
            chatbot=bot, last_agent=chatbot.account.owner, resolved=name == "Kim"
        )
        said = MessageFactory(
            thread=thread, message_type=MessageType.AGENT_MESSAGE, agent_name=name
        )
        moment = timezone.now() - timedelta(minutes=minutes)
        Message.objects.filter(pk=said.pk).update(created_at=moment)
    assert "Nobody is waiting. Last answer 12 min ago by Kim. Show all open" in empty()
    with CaptureQueriesContext(connection) as asked:
        empty()
    assert len(asked) <= 10


def test_the_menu_opens_the_inbox_with_the_last_view_and_filters(
    client: Client, chatbot: Chatbot
) -> None:
    menu = f"{INBOX}?view=last"
    assert menu in client.get(reverse("admin:index")).content.decode()
    assert client.get(menu).context["cl"].view == "waiting"
    for query in ("view=resolved&tag=late", "view=mine"):
        client.cookies["inbox"] = query
        assert client.get(menu)["Location"] == f"{INBOX}?{query}"
        assert client.get(f"{INBOX}?view=open").context["cl"].view == "open"
    for broken in ("view=last", "view=x", "", "%", "//example.com"):
        client.cookies["inbox"] = broken
        assert client.get(menu).context["cl"].view == "waiting"
