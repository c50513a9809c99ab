"""Owed replies: AI replies that messages are still waiting for, and the claims on them."""

import resource
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.db import IntegrityError, connection, connections, transaction
from django.utils import timezone

from chatbots.models import Chatbot, GeneralSettings, LlmModel
from chatbots.services.chatbot import erase_chatbot
from config.api.errors import Unavailable
from config.database.ids import new_id
from conversations import tasks
from conversations.access import ThreadNotFound
from conversations.models import Draft, Message, OwedReply, Thread
from conversations.models.message import MessageType
from conversations.services import ai_reply, erasure, escalation, owed_reply
from tests.conversations.conftest import Send
from tests.factories.accounts import UserFactory
from tests.factories.conversations import MessageFactory, ThreadFactory
from tests.patience import PATIENCE
from tests.servers.behaviors import answer
from tests.servers.locks import waits_for_a_lock
from tests.servers.model import ModelServer
from tests.servers.model import replying as replying_by
from tests.servers.processes import wait_until

pytestmark = pytest.mark.proves("Threads and messages")
FALLBACK = "Please ask again later."
ON_SERVERS = pytest.mark.skipif(django_settings.EMBEDDED, reason="SQLite has one writer at a time")


@pytest.fixture
def model(chatbot: Chatbot) -> Iterator[ModelServer]:
    """A model server that the chatbot uses."""
    with ModelServer() as server:
        row = LlmModel.objects.create(provider="openai", title="Real", base_url=server.base_url)
        GeneralSettings.objects.update(llm_model=row, fallback_message=FALLBACK)
        yield server


def owed(thread: Thread, *, begun: int = 1, ago: float = 1.0) -> Message:
    """Store a message whose reply is owed, with a lease that expired `ago` seconds ago."""
    message = MessageFactory(thread=thread, content="Hello?")
    until = timezone.now() - timedelta(seconds=ago)
    OwedReply.objects.create(message=message, claim=new_id(), claimed_until=until, begun=begun)
    return message


def work() -> None:
    """Claim the owed replies and run their tasks, as a worker does."""
    for message_id, token in owed_reply.claim("1", most=8):
        tasks.make_reply(str(message_id), str(token))


def test_a_repeated_task_generates_one_reply(model: ModelServer, thread: Thread) -> None:
    message = owed(thread)
    [(message_id, token)] = owed_reply.claim("1", most=8)
    assert owed_reply.claim("2", most=8) == []
    for _ in range(2):
        tasks.make_reply(str(message_id), str(token))
    assert len(model.arrivals) == 1
    assert Message.objects.get(parent_message=message).content == "You said: Hello?"
    assert not OwedReply.objects.exists()


def test_a_claim_can_be_confirmed_only_once(thread: Thread) -> None:
    owed(thread)
    [(message_id, token)] = owed_reply.claim("1", most=8)
    assert owed_reply.confirm(message_id, token)
    assert owed_reply.confirm(message_id, token) is None


def test_a_lost_claim_settles_nothing(model: ModelServer, thread: Thread) -> None:
    message = MessageFactory(thread=thread)
    first = owed_reply.record(message)
    assert owed_reply.take(message.pk) is None
    OwedReply.objects.update(claimed_until=timezone.now() - timedelta(seconds=1))
    second = owed_reply.take(message.pk)
    assert second
    with pytest.raises(ai_reply.ClaimLost):
        ai_reply.reply(message, first)
    assert OwedReply.objects.exists()
    assert ai_reply.reply(message, second)
    assert Message.objects.filter(parent_message=message).count() == 1


def test_without_a_fallback_a_failed_model_leaves_no_owed_reply(
    model: ModelServer, thread: Thread
) -> None:
    GeneralSettings.objects.update(fallback_message="")
    model.say(answer(500, b"broken"))
    owed(thread)
    work()
    assert Message.objects.count() == 1
    assert not OwedReply.objects.exists()


def test_a_thread_that_a_person_took_over_owes_no_reply(model: ModelServer, thread: Thread) -> None:
    owed(thread)
    escalation.take_over(thread.pk, agent=UserFactory())
    work()
    assert not model.arrivals
    assert not OwedReply.objects.exists()
    assert not Draft.objects.exists()


def test_a_thread_returned_to_the_ai_while_its_reply_begins_gets_the_models_reply(
    model: ModelServer, thread: Thread
) -> None:
    message = owed(thread)
    escalation.take_over(thread.pk, agent=UserFactory())
    stale = Message.objects.select_related("thread").get(pk=message.pk)
    escalation.return_to_ai(thread.pk)
    claim = owed_reply.take(message.pk)
    assert claim
    made = ai_reply.reply(stale, claim)
    assert made
    assert (made.content, made.fallback_reason) == ("You said: Hello?", None)


@pytest.mark.parametrize("gone", ["conversation", "visitor", "chatbot"])
def test_an_erased_conversation_owes_no_reply(
    model: ModelServer, chatbot: Chatbot, thread: Thread, gone: str
) -> None:
    owed(thread)
    match gone:
        case "conversation":
            erasure.erase_thread(thread.pk)
        case "visitor":
            erasure.erase_visitor(thread.visitor_id)
        case "chatbot":
            erase_chatbot(chatbot)
    work()
    assert not model.arrivals
    assert Message.objects.count() == 1
    for _ in erasure.purge():
        pass
    assert not OwedReply.objects.exists()


def test_a_chatbot_that_is_erased_during_the_model_call_gets_no_reply(
    model: ModelServer, chatbot: Chatbot, thread: Thread
) -> None:
    message = MessageFactory(thread=thread)
    claim = owed_reply.record(message)
    erase_chatbot(chatbot)
    with pytest.raises(ThreadNotFound):
        ai_reply.reply(message, claim)
    assert not Message.objects.filter(parent_message=message).exists()


def test_a_message_that_repeatedly_kills_the_process_gets_the_fallback(
    model: ModelServer, thread: Thread
) -> None:
    message = owed(thread, begun=owed_reply.MOST_TRIES)
    work()
    assert not model.arrivals
    assert Message.objects.get(parent_message=message).content == FALLBACK


def test_a_clock_that_was_set_back_delays_no_reply(thread: Thread) -> None:
    owed(thread, ago=-3_600)
    assert len(owed_reply.claim("1", most=8)) == 1


def test_one_account_gets_at_most_half_of_a_workers_replies(thread: Thread) -> None:
    for _ in range(10):
        owed(thread, ago=9)
    other = owed(ThreadFactory())
    claimed = [message_id for message_id, _ in owed_reply.claim("1", most=8)]
    assert (len(claimed), other.pk in claimed) == (4, False)
    claimed = [message_id for message_id, _ in owed_reply.claim("1", most=8)]
    assert claimed == [other.pk]


def test_a_renewed_lease_is_not_claimed(thread: Thread) -> None:
    message = owed(thread)
    row = OwedReply.objects.get()
    owed_reply.renewal.renew([row.claim])
    assert owed_reply.take(message.pk) is None
    assert owed_reply.claim("1", most=8) == []


def test_a_second_reply_to_a_message_cannot_be_stored(thread: Thread) -> None:
    message = MessageFactory(thread=thread)
    reply = {"thread": thread, "message_type": MessageType.AI_MESSAGE, "parent_message": message}
    MessageFactory(**reply)
    with pytest.raises(IntegrityError), transaction.atomic():
        MessageFactory(**reply)


@contextmanager
def no_file_descriptors() -> Iterator[None]:
    """Prevent this process from opening further files or connections."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))  # open files stay open
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_shortage_of_file_descriptors_is_not_a_failure_of_the_model(
    model: ModelServer, thread: Thread
) -> None:
    LlmModel.objects.update(base_url="http://127.0.0.1:9/v1")
    message = MessageFactory(thread=thread, content="Hello?")
    claim = owed_reply.record(message)
    with no_file_descriptors(), pytest.raises(Unavailable) as caught:
        ai_reply.reply(message, claim)
    assert (caught.value.status_code, caught.value.headers()) == (503, {"Retry-After": "1"})
    assert Message.objects.count() == 1
    assert OwedReply.objects.get().begun == 0
    OwedReply.objects.update(claimed_until=timezone.now() - timedelta(seconds=1))
    with ModelServer() as untouched:  # the fixture's server may have failed for lack of descriptors
        LlmModel.objects.update(base_url=untouched.base_url)
        work()
    assert Message.objects.get(parent_message=message).content == "You said: Hello?"


@ON_SERVERS
@pytest.mark.django_db(transaction=True)
def test_a_reply_waits_for_no_lock_of_another_account(
    model: ModelServer, send: Send, thread: Thread
) -> None:
    """Another account's reply from the same model is stored but not yet committed."""
    other = ThreadFactory()
    GeneralSettings.objects.update(llm_model=LlmModel.objects.get(title="Real"))
    message = MessageFactory(thread=other)
    claim = owed_reply.record(message)
    stored, go_on, in_time = threading.Event(), threading.Event(), []

    def hold() -> None:
        try:
            with transaction.atomic():
                assert ai_reply.reply(message, claim)
                with connection.cursor() as cursor:  # check the constraints now, not at commit
                    cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
                stored.set()
                in_time.append(go_on.wait(20))
        finally:
            stored.set()
            connections.close_all()

    holder = threading.Thread(target=hold)
    holder.start()
    assert stored.wait(PATIENCE)
    assert [one["messageType"] for one in send("Hi")] == ["USER_MESSAGE", "AI_MESSAGE"]
    go_on.set()
    holder.join()
    assert in_time == [True]
    assert Message.objects.filter(llm_model__title="Real").count() == 2


@ON_SERVERS
@pytest.mark.django_db(transaction=True)
def test_a_reply_is_not_lost_if_its_model_is_deleted_while_it_is_stored(
    model: ModelServer, send: Send
) -> None:
    """The model is deleted while the transaction that stores its reply waits for a lock."""
    locked = threading.Event()

    def delete() -> None:
        try:
            with transaction.atomic(), connection.cursor() as cursor:
                cursor.execute("LOCK TABLE webhooks_endpoint IN ACCESS EXCLUSIVE MODE")
                locked.set()
                wait_until(waits_for_a_lock)
                GeneralSettings.objects.update(llm_model=None)
                cursor.execute("DELETE FROM chatbots_llmmodel WHERE title = 'Real'")
        finally:
            locked.set()
            connections.close_all()

    deleter = threading.Thread(target=delete)

    def begin(_: Any) -> str:
        deleter.start()
        locked.wait(PATIENCE)
        return "answered"

    model.say(replying_by(begin))
    _, reply = send("Hi")
    deleter.join()
    assert (reply["content"], reply["llmModelId"]) == ("answered", None)
