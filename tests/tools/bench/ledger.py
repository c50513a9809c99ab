"""Measure how long verify_ledger takes to check a million messages and their deliveries."""

import time
from datetime import timedelta
from typing import Any

from django.db import connection
from django.utils import timezone

from chatbots.models import Chatbot
from conversations import ledger
from conversations.models import Message, Thread, ThreadCount
from tests.factories import bulk
from tests.factories.conversations import MessageFactory, ThreadFactory
from tests.factories.webhooks import DeliveryFactory, EndpointFactory
from webhooks.models import Attempt, Delivery, Endpoint

MESSAGES = 1_000_000
OF_THREAD, AT_ONCE = 20, 100  # messages per thread; number of threads whose messages alternate
BLOCK = OF_THREAD * AT_ONCE
ID = {
    "postgresql": "('{kind}' || lpad(to_hex({number}), 30, '0'))::uuid",
    "sqlite": "'{kind}' || printf('%%030x', {number})",
}
THREAD = f"(((s.n - 1) / {BLOCK}) * {AT_ONCE} + (s.n - 1) %% {AT_ONCE} + 1)"
POSITION = f"(((s.n - 1) %% {BLOCK}) / {AT_ONCE} + 1)"
BY_VISITOR = f"{POSITION} %% 2 = 1"


def of(kind: str, number: str = "s.n") -> str:
    """Return an SQL expression that makes an id from a number.

    Higher numbers give higher ids, just as real ids increase over time.
    """
    return ID[connection.vendor].format(kind=kind, number=number)


def fill(messages: int) -> Chatbot:
    """Store this many messages, each with a delivery and an attempt. Returns their chatbot."""
    threads = messages // OF_THREAD
    long_ago, lately = timezone.now() - timedelta(days=2), timezone.now() - timedelta(hours=1)
    thread = ThreadFactory()
    endpoint = EndpointFactory(chatbot=thread.chatbot)
    message = MessageFactory(thread=thread)
    delivery = DeliveryFactory(
        chatbot=thread.chatbot, body=b"{}" * 200, state="SUCCESS", due_at=None, attempts_count=1
    )
    attempt = Attempt.objects.create(
        delivery=delivery,
        number=1,
        status="SUCCESS",
        response_code=200,
        started_at=lately,
        finished_at=lately,
    )
    type(endpoint).objects.update(created_at=long_ago, updated_at=long_ago)
    type(thread.chatbot.account).objects.update(created_at=long_ago, updated_at=long_ago)
    Message.objects.update(created_at=lately)
    Delivery.objects.update(created_at=lately)
    counts = {"last_position": str(OF_THREAD), "visitor_messages_count": str(OF_THREAD // 2)}
    bulk.copy(thread, threads, {"id": of("01")} | counts)
    kinds = f"CASE WHEN {BY_VISITOR} THEN 'USER_MESSAGE' ELSE 'AI_MESSAGE' END"
    parent = f"CASE WHEN {BY_VISITOR} THEN NULL ELSE {of('02', f's.n - {AT_ONCE}')} END"
    its_thread = {"thread_id": of("01", THREAD)}
    placed = {"position": POSITION, "message_type": kinds, "parent_message_id": parent}
    bulk.copy(message, messages, {"id": of("02")} | its_thread | placed)
    reported = {"message_id": of("02"), "position": "s.n"}
    bulk.copy(delivery, messages, {"id": of("03")} | its_thread | reported)
    bulk.copy(attempt, messages, {"id": of("04"), "delivery_id": of("03")})
    Attempt.objects.filter(pk=attempt.pk).delete()
    Delivery.objects.filter(pk=delivery.pk).delete()
    Message.objects.filter(pk=message.pk).delete()
    Thread.objects.filter(pk=thread.pk).delete()
    ThreadCount.objects.update(threads=Thread.objects.count())
    bulk.settle()
    assert Endpoint.objects.count() == 1
    return thread.chatbot


def measure(size: float) -> dict[str, Any]:
    """Store the rows, and time the check. Returns the number of messages and the seconds taken.

    Asserts that the check finds no gap.
    """
    messages = round(MESSAGES * size / BLOCK) * BLOCK
    fill(messages)
    began, found = time.monotonic(), dict[str, ledger.Gaps]()
    for _ in ledger.check(found):
        pass
    seconds = time.monotonic() - began
    assert sum(gaps.count for gaps in found.values()) == 0, found
    return {"ledger_messages": messages, "ledger_seconds": seconds}
