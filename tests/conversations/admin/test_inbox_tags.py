"""The inbox's "Tag" action adds a tag to the selected threads or removes a tag from them."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from chatbots.models import Chatbot
from conversations.models import Thread
from tests.factories.chatbots import ChatbotFactory
from tests.factories.conversations import ThreadFactory

INBOX = reverse("admin:conversations_thread_changelist")


def tag(client: Client, *threads: Thread, **given: str) -> Any:
    """Submit the form of the "Tag" action, or open the form if no values are given."""
    keys = {"_selected_action": [thread.pk for thread in threads]}
    return client.post(INBOX, {"action": "tag_selected", **keys, **given})


def tags_of(*threads: Thread) -> list[list[str]]:
    return [Thread.objects.get(pk=thread.pk).tags for thread in threads]


def test_the_selected_threads_are_tagged_and_the_tag_is_removed_again(
    client: Client, chatbot: Chatbot
) -> None:
    one, two = ThreadFactory(chatbot=chatbot, tags=["vip"]), ThreadFactory(chatbot=chatbot)
    foreign, other = ThreadFactory(chatbot=ChatbotFactory()), ThreadFactory(chatbot=chatbot)
    form = tag(client, one, two, foreign).content.decode()
    assert "Tag 2 conversations" in form
    assert str(two.pk) in form
    assert str(foreign.pk) not in form
    for _ in range(2):
        tag(client, one, two, foreign, tag=" late, 2nd ", how="add")
        assert tags_of(one, two, foreign, other) == [["vip", "late, 2nd"], ["late, 2nd"], [], []]
    tag(client, one, two, tag="vip", how="remove")
    assert tags_of(one, two) == [["late, 2nd"], ["late, 2nd"]]


@pytest.mark.parametrize("text", ["", " ", "x" * 256, "a\0b"])
def test_an_invalid_tag_is_refused_and_can_be_corrected(
    client: Client, chatbot: Chatbot, text: str
) -> None:
    thread = ThreadFactory(chatbot=chatbot)
    page = tag(client, thread, tag=text, how="add")
    assert page.status_code == 200
    assert str(thread.pk) in page.content.decode()
    assert tags_of(thread) == [[]]
