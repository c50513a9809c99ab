"""Names and texts in a right-to-left script are laid out in their own direction."""

import pytest
from django.urls import reverse
from playwright.sync_api import Page

from chatbots.models import Chatbot
from conversations.models import Thread
from conversations.models.message import MessageType
from tests.factories.conversations import MessageFactory, ThreadFactory, VisitorFactory

WORDS = "שלום!"  # the exclamation mark belongs on the left
# Returns whether the last character of an element's text is to the left of the first one
REVERSED = """one => {
  const walker = document.createTreeWalker(one, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode, start = text.data.indexOf("ש");
    if (start < 0) continue;
    const [first, last] = [start, text.data.indexOf("!")].map((place) => {
      const range = document.createRange();
      range.setStart(text, place);
      range.setEnd(text, place + 1);
      return range.getBoundingClientRect().left;
    });
    return last < first;
  }
}"""


@pytest.fixture
def thread(shop: Chatbot) -> Thread:
    Chatbot.objects.filter(pk=shop.pk).update(name=WORDS)
    visitor = VisitorFactory(chatbot=shop, name=WORDS)
    thread: Thread = ThreadFactory(chatbot=shop, visitor=visitor, title=WORDS, tags=[WORDS])
    ThreadFactory(chatbot=shop, visitor=visitor, title=WORDS, resolved=True)
    MessageFactory(
        thread=thread, message_type=MessageType.AGENT_MESSAGE, agent_name=WORDS, content=WORDS
    )
    return thread


def test_the_conversation_shows_names_and_texts_in_their_own_direction(
    page: Page, thread: Thread
) -> None:
    page.goto(reverse("admin:conversations_thread_change", args=[thread.pk]))
    for place in (
        *(".thread-head .who", ".thread-head a[href*=chatbot]", ".by b", ".words"),
        *(".about dd >> nth=0", ".tag", ".about li a"),
    ):
        assert page.locator(place).evaluate(REVERSED), place
