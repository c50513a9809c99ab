"""Erased rows are hidden immediately, and the rows that depend on them are deleted in batches."""

import pytest
from django.utils import timezone

from accounts.models import Mail, Plan, StoredAnswer
from chatbots.models import (
    Appearance,
    Chatbot,
    ConversationStarter,
    Instruction,
    LeadSettings,
    Localization,
)
from chatbots.services.chatbot import create_chatbot, erase_chatbot
from conversations.models import Draft, Lead, Message, Thread, ThreadCount, Visitor
from conversations.services import erasure, threads
from tests.conftest import Api
from tests.conversations.conftest import Send
from tests.factories.chatbots import InstructionFactory, LeadSettingsFactory
from tests.factories.conversations import MessageFactory
from tests.factories.webhooks import DeliveryFactory, EndpointFactory
from webhooks.models import Attempt, Delivery, Endpoint

CONTACT = {"visitor_id": "anna", "visitor_name": "Anna", "visitor_email": "anna@example.com"}


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(erasure, "PAUSE", 0)


@pytest.fixture
def talk(chatbot: Chatbot, api: Api, send: Send) -> Thread:
    """A conversation with messages, a draft, a lead, emails, deliveries and an attempt."""
    LeadSettingsFactory(
        chatbot=chatbot,
        enable_lead_collection=True,
        customer_email_take=True,
        lead_notification=True,
        lead_notification_email=["sales@example.com"],
    )
    EndpointFactory(chatbot=chatbot)
    thread = threads.create(chatbot.pk, CONTACT)
    answer = api.post(
        f"/v1/chatting/{chatbot.pk}/thread/{thread.pk}/message", {"content": "my secret"}
    )
    assert answer.status_code == 200
    Draft.objects.create(message=Message.objects.first(), content="late")
    delivery = Delivery.objects.filter(thread_id=thread.pk).first()
    Attempt.objects.create(
        delivery=delivery, number=1, response_body=b"echo", started_at=timezone.now()
    )
    return Thread.objects.get(pk=thread.pk)


def purge() -> int:
    return sum(1 for _ in erasure.purge())


def log() -> tuple[list[str], bool]:
    """Return the logged events, and whether any request or response body is left in the log."""
    lines = Delivery.objects.order_by("id").values_list("event", flat=True)
    bodies = [bytes(body) for body in Delivery.objects.values_list("body", flat=True)]
    echoes = [bytes(body) for body in Attempt.objects.values_list("response_body", flat=True)]
    return list(lines), any(bodies) or any(echoes)


def test_a_conversation_disappears_immediately_and_its_rows_soon_after(
    chatbot: Chatbot, api: Api, talk: Thread, thread: Thread
) -> None:
    MessageFactory(thread=thread, content="of another conversation")
    lines, _ = log()
    assert {"NEW_MESSAGE", "NEW_LEAD"} <= set(lines)
    assert Mail.objects.exists()
    erasure.erase_thread(talk.pk)
    answer = api.get(f"/v1/chatting/{chatbot.pk}/thread/{talk.pk}/messages")
    assert answer.status_code == 404
    assert str(talk.pk) not in api.get(f"/v1/chatting/{chatbot.pk}/threads").content.decode()
    assert ThreadCount.objects.get(chatbot=chatbot.pk).threads == 1
    assert not Lead.objects.exists()
    assert not Mail.objects.exists()
    assert log() == (lines, False)
    purge()
    assert list(Thread.everything.all()) == [thread]
    assert ThreadCount.objects.get(chatbot=chatbot.pk).threads == 1
    assert list(Message.objects.values_list("content", flat=True)) == ["of another conversation"]
    assert not Draft.objects.exists()
    assert log() == (lines, False)
    visitor = Visitor.objects.get(external_id="anna")
    assert (visitor.total_sessions, visitor.total_messages) == (0, 0)
    assert purge() == 0


@pytest.mark.parametrize("gone", ["conversation", "visitor", "chatbot"])
def test_stored_responses_for_retries_are_deleted_too(
    chatbot: Chatbot, api: Api, gone: str
) -> None:
    base = f"/v1/chatting/{chatbot.pk}"
    contact = {"visitorId": "anna", "visitorEmail": "anna@example.com"}
    created = api.post(f"{base}/threads", contact, Idempotency_Key="1").json()
    thread = Thread.objects.get(pk=created["data"]["thread"]["id"])
    path = f"{base}/thread/{thread.pk}"
    for where, body in ((f"{path}/message", {"content": "my secret"}), (f"{path}/escalate", None)):
        assert api.post(where, body, Idempotency_Key="1").status_code == 200
    other = api.post(f"{base}/threads", {"visitorId": "ben"}, Idempotency_Key="2").json()
    match gone:
        case "conversation":
            erasure.erase_thread(thread.pk)
        case "visitor":
            erasure.erase_visitor(thread.visitor_id)
        case "chatbot":
            erase_chatbot(chatbot)
            purge()
    kept = b"".join(bytes(body) for body in StoredAnswer.objects.values_list("body", flat=True))
    assert b"anna" not in kept
    assert b"my secret" not in kept
    again = api.post(f"{path}/message", {"content": "my secret"}, Idempotency_Key="1")
    assert again.status_code == 404
    if gone != "chatbot":  # other conversations keep their stored responses
        same = api.post(f"{base}/threads", {"visitorId": "ben"}, Idempotency_Key="2")
        assert same.json() == other


def test_a_visitor_is_erased_with_all_conversations_and_may_return(
    chatbot: Chatbot, api: Api, talk: Thread, thread: Thread
) -> None:
    second = threads.create(chatbot.pk, CONTACT)
    lines, _ = log()
    erasure.erase_visitor(talk.visitor_id)
    assert not Visitor.objects.filter(external_id="anna").exists()
    assert not Thread.objects.filter(pk__in=[talk.pk, second.pk]).exists()
    assert not Lead.objects.exists()
    assert not Mail.objects.exists()
    assert log() == (lines, False), "before a worker can send it"
    again = threads.create(chatbot.pk, {"visitor_id": "anna"})
    assert (again.visitor.total_sessions, again.visitor.email) == (1, "")
    purge()
    assert set(Thread.everything.all()) == {thread, again}
    assert ThreadCount.objects.get(chatbot=chatbot.pk).threads == 2
    assert set(Visitor.everything.all()) == {thread.visitor, again.visitor}
    assert not Message.objects.exists()
    assert log() == (lines, False)


def test_a_lead_is_erased_and_the_conversation_stays(chatbot: Chatbot, talk: Thread) -> None:
    erasure.erase_lead(Lead.objects.get(thread=talk))
    assert not Lead.objects.exists()
    assert not Mail.objects.exists()
    assert Thread.objects.filter(pk=talk.pk).exists()
    for event, body in Delivery.objects.values_list("event", "body"):
        assert bool(bytes(body)) == (event == "NEW_MESSAGE"), event


def test_a_chatbot_is_erased_with_everything_below_it_and_its_log_stays(
    chatbot: Chatbot, api: Api, talk: Thread
) -> None:
    InstructionFactory(chatbot=chatbot)
    ConversationStarter.objects.create(chatbot=chatbot, content={"a": 1})
    DeliveryFactory(chatbot=chatbot, is_test=True)
    Plan.objects.update(max_chatbots=1)
    lines, _ = log()
    name, account = chatbot.name, chatbot.account
    assert erase_chatbot(chatbot)
    assert not erase_chatbot(chatbot)
    assert api.get(f"/v1/chatbots/{chatbot.pk}/appearance").status_code == 404
    assert api.get("/v1/chatbots").json()["data"]["chatbots"] == []
    create_chatbot(account, creator_id=account.owner_id, name=name, description="its successor")
    purge()
    below = (Thread.everything, Visitor.everything, Message.objects, Endpoint.objects)
    settings = (Instruction, ConversationStarter, LeadSettings)
    assert not any(rows.exists() for rows in (*below, *(model.objects for model in settings)))
    assert not Appearance.objects.filter(chatbot=chatbot).exists()
    assert not Localization.objects.filter(chatbot=chatbot).exists()
    assert log() == (lines, False)
    assert Chatbot.everything.filter(pk=chatbot.pk).exists()  # the delivery log still refers to it
    Delivery.objects.all().delete()
    Chatbot.everything.filter(pk=chatbot.pk).update(purge_at=timezone.now())
    purge()
    assert not Chatbot.everything.filter(pk=chatbot.pk).exists()
