"""Fill a shop with sample data: a month of activity, waiting visitors, and failed deliveries."""

from datetime import datetime, timedelta

from django.utils import timezone

from chatbots.models import Chatbot, LlmModel
from config.durations import ONE_DAY, ONE_HOUR
from config.outbound.failures import Reason
from conversations.models import Activity, Handoff, Lead, Message, Thread, TokenUsage, Visitor
from conversations.models.activity import DAY, HOUR
from conversations.models.message import MessageType
from conversations.services.activity import day_of, hour_of
from tests.factories.conversations import (
    LeadFactory,
    MessageFactory,
    ThreadFactory,
    VisitorFactory,
)
from tests.factories.webhooks import SECRET, DeliveryFactory, EndpointFactory
from webhooks.models import Attempt, Delivery
from webhooks.signing import signature

URL = "https://shop.example/hooks/chat"
MINUTE = timedelta(minutes=1)
# Minutes waited, visitor's name, text, tags, and whether the thread is important
WAITING: tuple[tuple[int, str, str, list[str], bool], ...] = (
    (24, "Anna Berg", "I was charged twice and no one answers my emails.", ["billing"], True),
    (9, "Ben Castle", "Can I change the address? The parcel leaves today.", ["shipping"], False),
    (2, "", "is it open on sunday", [], False),
)
ANSWERED: tuple[tuple[str, str, list[str]], ...] = (
    ("Cleo Diaz", "Thanks, that helped!", ["shipping"]),
    ("Dan Ekman", "Do you have the blue one in size 40?", []),
    ("Eva Fox", "Where is my refund?", ["billing", "refund"]),
)
FAILURES = (  # status code, milliseconds, body
    (503, 41, b"upstream down"),
    (503, 38, b"upstream down"),
    (500, 112, b'{"error":"database"}'),
    (404, 17, b"no such path"),
)


def figures(shop: Chatbot) -> None:
    """Store token usage, and activity counts for the last 30 hours and the last 30 days."""
    now = timezone.now()
    for number in range(30):
        for hours, begins_at in (
            (HOUR, hour_of(now) - (number + 1) * ONE_HOUR),
            (DAY, day_of(now) - (number + 1) * ONE_DAY),
        ):
            Activity.objects.create(
                chatbot=shop,
                hours=hours,
                begins_at=begins_at,
                messages=hours * (20 + number % 7 * 5),
                ai_replies=hours * (9 + number % 5 * 2),
                fallbacks=hours * (number % 3),
                escalations=hours * (number % 2),
                answers=hours * (number % 2),
                answer_seconds=hours * (number % 2) * 240,
                leads=hours * (number % 4),
                success=hours * (15 + number % 6),
                failed=hours * (number % 5),
                retrying=number % 2,
            )
    TokenUsage.objects.create(
        chatbot=shop,
        model_id=shop.pk,
        day=now.date(),
        replies=12,
        input_tokens=8_214,
        output_tokens=1_033,
    )


def conversations(shop: Chatbot) -> Thread:
    """Store answered and waiting conversations, and return the thread that has waited longest."""
    now = timezone.now()
    answered = [
        talk(shop, name, words, tags=tags, at=now - 3 * ONE_HOUR) for name, words, tags in ANSWERED
    ]
    requests(answered[0])
    waiting = [
        talk(shop, name, words, tags=tags, at=now - minutes * MINUTE, important=important)
        for minutes, name, words, tags, important in WAITING
    ]
    for thread in waiting:
        Thread.objects.filter(pk=thread.pk).update(escalated=True, waiting_since=thread.created_at)
        MessageFactory(
            thread=thread,
            message_type=MessageType.SYSTEM_MESSAGE,
            content="This conversation has been handed over to our team.",
        )
        Message.objects.filter(thread=thread).update(created_at=thread.created_at)
    lead = LeadFactory(thread=waiting[0], name="Anna Berg", email="anna.berg@example.com")
    Lead.objects.filter(pk=lead.pk).update(captured_at=waiting[0].created_at)
    return waiting[0]


def requests(thread: Thread) -> None:
    """Store 76 requests for a human agent, two hours apart, each answered after four minutes."""
    now = timezone.now()
    for number in range(1, 77):
        asked_at = now - number * 2 * ONE_HOUR
        Handoff.objects.create(
            chatbot=thread.chatbot,
            thread=thread,
            asked_at=asked_at,
            answered_at=asked_at + 4 * MINUTE,
            resolved_at=asked_at + ONE_HOUR if number % 3 else None,
            came_back_at=asked_at + ONE_DAY if number % 12 == 1 else None,
        )


def talk(
    shop: Chatbot, name: str, words: str, *, tags: list[str], at: datetime, important: bool = False
) -> Thread:
    """Store a thread with a question, the bot's reply and the visitor's last message."""
    visitor = VisitorFactory(chatbot=shop, name=name, total_messages=2)
    thread: Thread = ThreadFactory(
        chatbot=shop, visitor=visitor, tags=tags, important=important, unread_messages_count=2
    )
    MessageFactory(thread=thread, content="When do you open, and where are you?")
    MessageFactory(
        thread=thread,
        message_type=MessageType.AI_MESSAGE,
        llm_model=LlmModel.objects.filter(is_default=True).first(),
        reply_ms=812,
        content="We are open from 9:00 to 18:00.\nOur address is 12 Harbor Street.",
    )
    MessageFactory(thread=thread, content=words)
    Thread.objects.filter(pk=thread.pk).update(created_at=at, updated_at=at)
    Message.objects.filter(thread=thread).update(created_at=at)
    Visitor.objects.filter(pk=visitor.pk).update(first_seen_at=at, last_seen_at=at)
    return Thread.objects.get(pk=thread.pk)


def deliveries(shop: Chatbot) -> Delivery:
    """Store successful, failed and waiting deliveries, and return a failed one."""
    now = timezone.now()
    EndpointFactory(
        chatbot=shop,
        url=URL,
        secret_made_at=now - 12 * ONE_DAY,
        secret_made_by="Kim",
        last_success_at=now - 2 * ONE_HOUR,
        failing_since=now - 90 * MINUTE,
        failures_in_a_row=len(FAILURES),
    )
    for ms in (39, 44, 35, 61, 48):
        row = {"state": "SUCCESS", "due_at": None, "attempts_count": 1, "last_code": 200}
        DeliveryFactory(chatbot=shop, last_ms=ms, **row)
    failed = [failure(shop, *answer) for answer in FAILURES]
    DeliveryFactory(
        chatbot=shop,
        event="NEW_LEAD",
        state="RETRYING",
        attempts_count=2,
        last_reason=Reason.TIMEOUT,
        due_at=now + ONE_DAY,
    )
    return failed[0]


def failure(shop: Chatbot, code: int, ms: int, body: bytes) -> Delivery:
    """Store a delivery whose four attempts failed in the same way."""
    delivery: Delivery = DeliveryFactory(
        chatbot=shop,
        state="FAILED",
        due_at=None,
        attempts_count=4,
        last_code=code,
        last_ms=ms,
        body=b'{"event":"NEW_MESSAGE","data":{"content":"When do you open?"}}',
    )
    for number in range(1, 5):
        Attempt.objects.create(
            delivery=delivery,
            number=number,
            status="FAILED" if number == 4 else "RETRYING",
            url=URL,
            signature=signature(bytes(delivery.body), SECRET),
            response_code=code,
            response_ms=ms + number,
            response_headers={"content-type": "text/plain"},
            response_body=body,
            started_at=timezone.now() - (5 - number) * MINUTE,
            finished_at=timezone.now() - (5 - number) * MINUTE,
        )
    return delivery
