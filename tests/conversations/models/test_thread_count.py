"""A chatbot's stored thread count stays correct, however threads are created and deleted."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

import pytest
from django.db import connection, transaction

from chatbots.models import Chatbot
from conversations.models import Thread, ThreadCount
from conversations.services import threads
from tests.factories.chatbots import ChatbotFactory
from tests.factories.conversations import MessageFactory, ThreadFactory, VisitorFactory

pytestmark = pytest.mark.proves("Pagination (list endpoints)", "Endpoints named without shape")

WAYS: dict[str, tuple[Callable[[Chatbot], object], int]] = {
    "the API creates one": (lambda bot: threads.create(bot.pk, {}), 6),
    "many are inserted at once": (
        lambda bot: Thread.objects.bulk_create(
            [Thread(chatbot=bot, visitor=VisitorFactory(chatbot=bot)) for _ in range(3)]
        ),
        8,
    ),
    "some are deleted": (
        lambda bot: bot.threads.filter(pk__in=bot.threads.values("pk")[:2]).delete(),
        3,
    ),
    "a visitor is deleted with their threads": (lambda bot: bot.visitors.first().delete(), 4),
    "the chatbot is deleted": (lambda bot: Chatbot.objects.filter(pk=bot.pk).delete(), 0),
}


def counted(chatbot_id: UUID) -> int:
    return ThreadCount.objects.filter(pk=chatbot_id).values_list("threads", flat=True).first() or 0


@pytest.mark.parametrize("way", WAYS)
def test_the_count_follows_every_creation_and_deletion(chatbot: Chatbot, way: str) -> None:
    other = ThreadFactory(chatbot=ChatbotFactory()).chatbot
    for thread in ThreadFactory.create_batch(5, chatbot=chatbot):
        MessageFactory(thread=thread)
    assert (counted(chatbot.pk), counted(other.pk)) == (5, 1)
    act, left = WAYS[way]
    key = chatbot.pk
    act(chatbot)
    assert counted(key) == left
    assert counted(other.pk) == Thread.objects.filter(chatbot=other).count()


def test_a_rollback_does_not_change_the_count(chatbot: Chatbot) -> None:
    with transaction.atomic():
        threads.create(chatbot.pk, {})
        transaction.set_rollback(True)
    assert counted(chatbot.pk) == 0


@pytest.mark.django_db(transaction=True)
def test_concurrent_creations_are_all_counted(chatbot: Chatbot) -> None:
    def create(number: int) -> None:
        try:
            threads.create(chatbot.pk, {"visitor_id": f"visitor {number % 3}"})
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(create, range(40)))
    assert counted(chatbot.pk) == Thread.objects.count() == 40
