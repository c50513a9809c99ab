"""Locked rows do not block claims, pruning, leases or emails for other rows.

`test_locked_rows` tests the same behavior with a running worker process.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import timedelta
from typing import Any

import pytest
from celery.worker import state
from django.conf import settings
from django.contrib.contenttypes.models import ContentType
from django.contrib.sessions.models import Session
from django.db import OperationalError, connection
from django.utils import timezone

from accounts import mail_queue
from accounts import tasks as account_tasks
from accounts.models import Change, Mail, StoredAnswer
from chatbots.models import Chatbot, LlmModel
from chatbots.services.chatbot import erase_chatbot
from config.database.ids import new_id
from config.database.locks import is_lock_timeout, left_if_locked
from config.models import PeriodicWork
from conversations import tasks as conversation_tasks
from conversations.dispatcher import PERIODIC
from conversations.models import OwedReply, Thread, ThreadCount, Visitor
from conversations.services import ai_reply, erasure, owed_reply
from tests.factories.accounts import AccountFactory
from tests.factories.chatbots import ChatbotFactory
from tests.factories.conversations import MessageFactory, ThreadFactory
from tests.factories.webhooks import DeliveryFactory, EndpointFactory
from tests.servers.locks import locked
from tests.servers.model import ModelServer
from webhooks import notifications
from webhooks import tasks as webhook_tasks
from webhooks.engine import claims, recovery
from webhooks.models import Delivery, Endpoint

pytestmark = [
    pytest.mark.proves("Delivery rules"),
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(settings.EMBEDDED, reason="SQLite has no row locks"),
]


def made_mail(**fields: Any) -> Mail:
    return Mail.objects.create(
        account=AccountFactory(), to="kim@example.com", subject="A", body="B", **fields
    )


def answer(number: int) -> StoredAnswer:
    account, token = AccountFactory(), new_id()
    return StoredAnswer.objects.create(
        user=account.owner, account=account, name=number, claim=token, claimed_until=timezone.now()
    )


def pruned_delivery(number: int) -> Delivery:
    return DeliveryFactory(chatbot=EndpointFactory().chatbot, state="SUCCESS", due_at=None)


def erased_thread(number: int) -> Thread:
    thread = ThreadFactory(chatbot=ChatbotFactory())
    erasure.erase_thread(thread.pk)
    return thread


# Maps each kind of periodic work that prunes rows to a function that creates a row to prune, and to
# the columns that determine the row's age.
PRUNED: dict[str, tuple[Callable[[int], Any], tuple[str, ...]]] = {
    account_tasks.PRUNE_MAILS: (lambda _: made_mail(due_at=None), ("created_at",)),
    account_tasks.CLEAR_SESSIONS: (
        lambda number: Session.objects.create(session_key=str(number), expire_date=timezone.now()),
        ("expire_date",),
    ),
    account_tasks.FORGET_ANSWERS: (answer, ("created_at",)),
    account_tasks.PRUNE_CHANGES: (
        lambda number: Change.objects.create(
            content_type=ContentType.objects.first(),
            object_pk=str(number),
            object_repr="A",
            action=0,
        ),
        ("timestamp",),
    ),
    webhook_tasks.PRUNE: (pruned_delivery, ("created_at",)),
    conversation_tasks.PURGE: (erased_thread, ("purge_at",)),
}


def begin_work(name: str) -> str:
    """Make periodic work due, claim it, and return the claim."""
    PeriodicWork.objects.all().delete()
    PeriodicWork.objects.add([name])
    [(_, claim)] = PeriodicWork.objects.claim()
    return claim


@pytest.mark.usefixtures("limits")
@pytest.mark.parametrize("name", PRUNED)
def test_a_locked_row_does_not_hold_up_the_pruning_of_others(name: str) -> None:
    make, columns = PRUNED[name]
    rows = [make(number) for number in range(3)]
    model = type(rows[0])
    every = getattr(model, "everything", model._base_manager)
    mine = every.filter(pk__in=[row.pk for row in rows])
    mine.update(**dict.fromkeys(columns, timezone.now() - timedelta(days=1000)))
    with locked(mine.filter(pk=rows[0].pk)):
        PERIODIC[name](begin_work(name))
        assert [row.pk for row in mine.all()] == [rows[0].pk]
    PERIODIC[name](begin_work(name))
    assert not mine.exists()


@pytest.mark.usefixtures("limits")
@pytest.mark.parametrize("model", [Visitor, Chatbot])
def test_a_thread_that_is_unlocked_late_is_not_deleted_before_its_deliveries_are_erased(
    endpoint: Endpoint, model: Any
) -> None:
    thread = ThreadFactory(chatbot=endpoint.chatbot)
    DeliveryFactory(chatbot=endpoint.chatbot, thread_id=thread.pk, state="SUCCESS", due_at=None)
    answers = StoredAnswer.objects.filter(pk=answer(1).pk)
    if model is Visitor:
        erasure.erase_visitor(thread.visitor_id)
    else:
        erase_chatbot(endpoint.chatbot)
    answers.update(thread_id=thread.pk)
    Thread.everything.update(purge_at=None)
    model.everything.update(purge_at=timezone.now())
    lock = ExitStack()
    lock.enter_context(locked(Thread.everything.filter(pk=thread.pk)))

    def unlock_late(execute: Any, sql: str, *rest: Any) -> Any:
        if sql.startswith('DELETE FROM "conversations_thread"'):
            lock.close()
        return execute(sql, *rest)

    with lock, connection.execute_wrapper(unlock_late):
        list(erasure.purge())
        assert Thread.everything.exists()
    list(erasure.purge())
    assert not Thread.everything.exists()
    assert bytes(Delivery.objects.get().body) == b""
    assert not answers.exists()
    assert list(ThreadCount.objects.exclude(threads=0)) == []


@pytest.mark.usefixtures("limits")
def test_finishing_work_waits_until_its_locked_row_is_free() -> None:
    claim, row = begin_work("sweep"), PeriodicWork.objects.filter(name="sweep")
    later = timezone.now() + timedelta(days=1)

    def finish() -> bool:
        try:
            return row.finish("sweep", claim, next_due=later)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool, locked(row):
        finishing = pool.submit(finish)
        with pytest.raises(TimeoutError):
            finishing.result(2)
        assert PeriodicWork.objects.claim() == []
    assert finishing.result(10)
    assert (row.get().due_at, row.get().claim) == (later, None)


@pytest.mark.usefixtures("limits")
def test_a_stopping_worker_does_not_wait_for_locked_work(monkeypatch: pytest.MonkeyPatch) -> None:
    claim, row = begin_work("sweep"), PeriodicWork.objects.filter(name="sweep")
    monkeypatch.setattr(state, "should_stop", 0)
    with locked(row), pytest.raises(OperationalError):
        row.finish("sweep", claim, next_due=timezone.now())


def test_locked_work_does_not_hold_up_the_claims_of_others() -> None:
    PeriodicWork.objects.add(["dust", "sweep"])
    with locked(PeriodicWork.objects.filter(name="dust")):
        assert [name for name, _ in PeriodicWork.objects.claim()] == ["sweep"]
    assert [name for name, _ in PeriodicWork.objects.claim()] == ["dust"]


def test_locked_emails_do_not_hold_up_the_claims_of_others() -> None:
    mails = [made_mail() for _ in range(3)]
    with locked(Mail.objects.filter(pk__in=[one.pk for one in mails[:2]])):
        assert [key for key, _ in mail_queue.claim(8)] == [str(mails[2].pk)]
    assert {key for key, _ in mail_queue.claim(8)} == {str(one.pk) for one in mails[:2]}


def test_a_locked_owed_reply_does_not_let_the_leases_of_others_expire(
    endpoint: Endpoint,
) -> None:
    threads = ThreadFactory.create_batch(2, chatbot=endpoint.chatbot)
    first, other = (owed_reply.record(MessageFactory(thread=thread)) for thread in threads)
    with locked(OwedReply.objects.filter(pk=first.message_id)):
        OwedReply.objects.exclude(pk=first.message_id).update(claimed_until=timezone.now())
        owed_reply.renewal.renew([first.token, other.token])
        assert OwedReply.objects.get(pk=other.message_id).claimed_until > timezone.now()


def test_a_process_does_not_claim_the_replies_that_it_is_generating(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owed_reply.renewal, "renew", lambda _: None)
    claim = owed_reply.record(MessageFactory(thread=ThreadFactory(chatbot=endpoint.chatbot)))
    OwedReply.objects.update(claimed_until=timezone.now() - timedelta(seconds=1))
    with owed_reply.renewal.of(claim.token):
        assert owed_reply.claim("1", most=8) == []
    assert len(owed_reply.claim("1", most=8)) == 1


def test_a_locked_endpoint_does_not_hold_up_the_emails_about_others(
    endpoint: Endpoint, limits: None
) -> None:
    EndpointFactory()
    since = timezone.now() - timedelta(days=1)
    Endpoint.objects.update(failing_since=since, last_failure_at=timezone.now())
    with locked(Endpoint.objects.filter(pk=endpoint.pk)):
        notifications.tell_owners()
        assert Mail.objects.count() == 1
    notifications.tell_owners()
    assert Mail.objects.count() == 2


def test_a_stopping_worker_releases_its_other_claims(endpoint: Endpoint) -> None:
    DeliveryFactory.create_batch(2, chatbot=endpoint.chatbot)
    first, other = (
        Delivery.objects.filter(pk=one.delivery_id) for one in claims.claim("1", slots=8)
    )
    with locked(first):
        recovery.release_all("1")
        assert other.get().claim is None
    assert first.get().claim


def test_a_worker_session_gives_up_waiting_for_a_lock(endpoint: Endpoint, limits: None) -> None:
    rows = Endpoint.objects.filter(pk=endpoint.pk)
    with locked(rows):
        with pytest.raises(OperationalError) as raised:
            rows.update(is_active=False)
        assert is_lock_timeout(raised.value)
        with left_if_locked("the change"):
            rows.update(is_active=False)
    assert rows.get().is_active


@pytest.mark.usefixtures("limits")
def test_a_reply_is_stored_when_its_thread_is_free(
    endpoint: Endpoint, model: ModelServer, default_model: LlmModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    LlmModel.objects.update(provider="openai", base_url=model.base_url)
    monkeypatch.setattr(ai_reply, "STORED_WITHIN", 0.5)
    thread = ThreadFactory(chatbot=endpoint.chatbot)
    message = MessageFactory(thread=thread)
    claim = owed_reply.record(message)

    def make() -> None:
        try:
            with left_if_locked("reply"):
                ai_reply.reply(message, claim, until_unlocked=True)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        with locked(Thread.objects.filter(pk=thread.pk)):
            making = pool.submit(make)
            with pytest.raises(TimeoutError):
                making.result(4)
        making.result(10)
    assert len(model.arrivals) == 1
    assert not OwedReply.objects.exists()


@pytest.mark.usefixtures("limits")
def test_a_locked_thread_does_not_count_as_a_failed_attempt_to_reply(endpoint: Endpoint) -> None:
    thread = ThreadFactory(chatbot=endpoint.chatbot, escalated=True)
    message = MessageFactory(thread=thread)
    owed_reply.record(message)
    for _ in range(2):
        OwedReply.objects.update(claimed_until=timezone.now() - timedelta(seconds=1))
        [(message_id, token)] = owed_reply.claim("1", most=8)
        with locked(Thread.objects.filter(pk=thread.pk)), left_if_locked("reply"):
            conversation_tasks.make_reply(str(message_id), str(token))
    assert OwedReply.objects.get().begun == 1
