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
    """Rename the oldest account to `name`, and give the oldest chatbot a prompt with that text."""
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


def test_a_violation_in_a_block_is_raised_by_the_next_statement() -> None:
    chatbot = ChatbotFactory()
    with pytest.raises(IntegrityError), transaction.atomic():
        with together():
            renamed("lost")
            insert(Chatbot(account=chatbot.account, name=chatbot.name))
        Account.objects.exists()
    assert not Account.objects.filter(name="lost")


def test_a_row_that_is_missing_in_a_block_is_an_error() -> None:
    chatbot = ChatbotFactory()
    Chatbot.objects.filter(pk=chatbot.pk).delete()
    with pytest.raises(DatabaseError, match="no longer exists"), transaction.atomic(), together():
        RENAME.write(id=new_id(), name="matches no row, which is allowed")
        update_columns(chatbot, ["name"])


@pytest.mark.django_db(transaction=True)
def test_a_row_that_is_missing_at_the_commit_is_an_error_and_nothing_is_stored() -> None:
    account, chatbot = AccountFactory(name="before"), ChatbotFactory()
    Chatbot.objects.filter(pk=chatbot.pk).delete()
    with pytest.raises(DatabaseError, match="no longer exists"), transaction.atomic(), together():
        RENAME.write(id=account.pk, name="lost")
        update_columns(chatbot, ["name"])
    account.refresh_from_db()
    assert account.name == "before"


def test_a_savepoint_that_is_rolled_back_discards_the_writes_of_a_block() -> None:
    account = ChatbotFactory().account
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        with together():
            renamed("lost")
        raise ZeroDivisionError
    account.refresh_from_db()
    assert account.name != "lost"
    assert not FollowUpPrompt.objects.exists()


def test_a_block_within_a_block_adds_to_it() -> None:
    account = ChatbotFactory().account
    with CaptureQueriesContext(connection) as queries, together():
        with together():
            renamed("inner")
        with together():
            insert(FollowUpPrompt(chatbot=account.chatbots.get(), link_text="outer"))
    assert len(queries) == (6 if settings.EMBEDDED else 4), "three of them are reads"
    assert FollowUpPrompt.objects.count() == 2
