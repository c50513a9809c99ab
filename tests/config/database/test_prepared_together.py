"""Writes in a `together` block are sent together to PostgreSQL, and run immediately on SQLite."""

import pytest
from django.conf import settings
from django.db import DatabaseError, IntegrityError, connection, transaction
from django.db.models import CharField, UUIDField
from django.test.utils import CaptureQueriesContext

from accounts.models import Account
from chatbots.models import Chatbot, FollowUpPrompt
from config.database.ids import new_id
from config.database.prepared import (
    Given,
    Update,
    insert,
    prepared_update,
    together,
    update_columns,
)
from tests.factories.accounts import AccountFactory
from tests.factories.chatbots import ChatbotFactory

pytestmark = pytest.mark.django_db

RENAME = prepared_update(
    lambda: Update(
        Account.objects.filter(pk=Given("id", UUIDField())), {"name": Given("name", CharField())}
    )
)


def renamed(name: str) -> None:
    """Rename the oldest account, and add a prompt with this text to the oldest chatbot."""
    account = Account.objects.earliest("created_at")
    RENAME.write(id=account.pk, name=name)
    chatbot = Chatbot.objects.earliest("created_at")
    insert(FollowUpPrompt(chatbot=chatbot, link_text=name))


def test_writes_of_a_block_are_sent_together() -> None:
    account = ChatbotFactory().account
    with CaptureQueriesContext(connection) as queries, together():
        renamed("100 % %s")
        assert Account.objects.get(pk=account.pk).name == (
            "100 % %s" if settings.EMBEDDED else account.name
        )
    assert len(queries) == (5 if settings.EMBEDDED else 4), "three of them are reads"
    assert Account.objects.get(pk=account.pk).name == "100 % %s"
    assert FollowUpPrompt.objects.get().link_text == "100 % %s"


def test_an_empty_block_sends_nothing() -> None:
    with CaptureQueriesContext(connection) as queries, together():
        pass
    assert not queries


def test_writes_of_a_block_that_fails_are_not_sent() -> None:
    account = ChatbotFactory().account
    with pytest.raises(ZeroDivisionError), transaction.atomic(), together():
        renamed("lost")
        raise ZeroDivisionError
    renamed("sent at once")
    account.refresh_from_db()
    assert (account.name, FollowUpPrompt.objects.get().link_text) == (
        "sent at once",
        "sent at once",
    )


def test_rows_of_one_block_may_refer_to_each_other() -> None:
    chatbot = Chatbot(account=AccountFactory(), name="new")
    with transaction.atomic(), together():
        insert(chatbot)
        insert(FollowUpPrompt(chatbot=chatbot, link_text="its prompt"))
    assert FollowUpPrompt.objects.get().chatbot == chatbot


def test_a_violation_in_a_block_marks_the_transaction() -> None:
    chatbot = ChatbotFactory()
    with transaction.atomic():
        with pytest.raises(IntegrityError), together():
            renamed("lost")
            insert(Chatbot(account=chatbot.account, name=chatbot.name))
        assert connection.needs_rollback
        transaction.set_rollback(True)


def test_a_row_that_is_missing_in_a_block_is_an_error() -> None:
    chatbot = ChatbotFactory()
    Chatbot.objects.filter(pk=chatbot.pk).delete()
    with pytest.raises(DatabaseError, match="no longer exists"), transaction.atomic(), together():
        RENAME.write(id=new_id(), name="of no row, which is allowed")
        update_columns(chatbot, ["name"])
