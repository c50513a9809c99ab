"""A search of the given chatbots finds words in messages, names, email addresses and tags."""

import pytest
from django.db import connection

from chatbots.models import Chatbot
from conversations.models import Message, Thread, Visitor
from conversations.services import erasure, search, threads
from tests.factories.chatbots import ChatbotFactory
from tests.factories.conversations import MessageFactory, ThreadFactory, VisitorFactory


@pytest.fixture
def anna(chatbot: Chatbot) -> Thread:
    visitor = VisitorFactory(chatbot=chatbot, name="Anna Berg", email="anna.b@shop-one.example")
    thread = ThreadFactory(chatbot=chatbot, visitor=visitor, tags=["Billing", "very urgent"])
    MessageFactory(thread=thread, content="I was charged TWICE, für zwei Gläser!")
    return thread


FOUND = ("charged", "Twice charged", "gläser", "anna", "ann", "berg anna", "billing", "bill")
FOUND += ("anna.b@shop-one.example", "urgent very")
NOT_FOUND = (
    "charge",
    "charged thrice",
    "an",
    "anna charged",
    "",
    "- * ' \\",
    "a" * 5_000,
    "\u0000",
)
NOT_FOUND += ("charged OR thrice", "charged' & 'x", 'charged" OR "x', "NOT charged*")


@pytest.mark.parametrize("text", [*FOUND, *NOT_FOUND])
def test_a_search_finds_a_thread_only_if_all_its_words_match(
    chatbot: Chatbot, anna: Thread, text: str
) -> None:
    hits = search.find(text, [chatbot.pk])
    assert hits.threads == ({anna.pk} if text in FOUND else set())
    assert not hits.more


CONTENT = (
    "Write to kim.o'neil@mail.example.com or see https://shop.example.com/returns?order=A-1234-B. "
    "12.50 EUR for report_2026.pdf, done.But the Cafe\u0301 in Đà_Nẵng (Zürich/Basel) has v1.2.3; "
    "“quoted”—dashed, C++ and naïve"
)


WORDS = ("kim.o'neil@mail.example.com", "neil mail", "returns order", "1234", "12.50", "50 EUR")
WORDS += ("https://shop.example.com/returns?order=A-1234-B", "report_2026.pdf", "report", "pdf")
WORDS += ("done.But", "done", "café", "cafe", "cafe\u0301", "NẴNG", "zurich", "Zürich Basel")
WORDS += ("v1.2.3", "quoted dashed", "C++", "naive")


@pytest.mark.parametrize("text", WORDS)
@pytest.mark.parametrize("kind", ["message", "visitor", "tag"])
def test_a_word_is_found_whatever_is_around_it(thread: Thread, kind: str, text: str) -> None:
    match kind:
        case "message":
            MessageFactory(thread=thread, content=CONTENT)
        case "visitor":
            Visitor.objects.filter(pk=thread.visitor_id).update(name=CONTENT[:255])
        case _:
            Thread.objects.filter(pk=thread.pk).update(tags=["urgent", CONTENT])
    assert search.find(text, [thread.chatbot_id]).threads == {thread.pk}
    assert search.find("elsewhere", [thread.chatbot_id]).threads == set()


def test_a_search_finds_only_threads_of_the_given_chatbots(anna: Thread, chatbot: Chatbot) -> None:
    other = ChatbotFactory()
    for word in ("charged", "anna", "billing"):
        assert search.find(word, [other.pk]).threads == set()
        assert search.find(word, []).threads == set()
        assert search.find(word, [other.pk, chatbot.pk]).threads == {anna.pk}
        assert search.find(word, None).threads == {anna.pk}
    assert search.find(f"charged bot{chatbot.pk.hex}", [other.pk]).threads == set()


def test_changed_names_tags_and_texts_are_found_and_the_old_ones_are_not(anna: Thread) -> None:
    threads.update(anna.pk, {"visitor_name": "Eva", "tags": ["refund"]})
    Message.objects.filter(thread=anna).update(content="all is well")
    for word in ("eva", "refund", "well"):
        assert search.find(word, None).threads == {anna.pk}, word
    for word in ("berg", "billing", "charged"):
        assert search.find(word, None).threads == set(), word
    threads.update(anna.pk, {"visitor_name": "", "visitor_email": "", "tags": []})
    for word in ("eva", "refund"):
        assert search.find(word, None).threads == set(), word


def test_erased_texts_are_removed_from_the_index(anna: Thread) -> None:
    erasure.erase_visitor(anna.visitor_id)
    for _ in erasure.purge():
        pass
    assert not Visitor.everything.exists()
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            for name in ("message", "visitor", "tag"):
                cursor.execute(f"SELECT count(*) FROM conversations_{name}_words")
                assert cursor.fetchone() == (0,)
    for word in ("charged", "anna", "billing"):
        assert search.find(word, None) == search.Hits()
