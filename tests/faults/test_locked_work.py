"""Locked rows do not block the pruning and the erasure of other rows."""

from collections.abc import Callable
from contextlib import ExitStack
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.contrib.contenttypes.models import ContentType
from django.contrib.sessions.models import Session
from django.db import connection
from django.utils import timezone

from accounts import tasks as account_tasks
from accounts.models import Change, Mail, StoredAnswer
from chatbots.models import Chatbot
from chatbots.services.chatbot import erase_chatbot
from config.database.ids import new_id
from config.models import PeriodicWork
from conversations import tasks as conversation_tasks
from conversations.models import Thread, ThreadCount, Visitor
from conversations.scheduler import PERIODIC
from conversations.services import erasure
from tests.factories.accounts import AccountFactory
from tests.factories.chatbots import ChatbotFactory
from tests.factories.conversations import ThreadFactory
from tests.factories.webhooks import DeliveryFactory, EndpointFactory
from tests.servers.locks import locked
from webhooks import tasks as webhook_tasks
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
