"""Migrating an older database keeps its conversations, and the triggers of their tables."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from chatbots.models import Chatbot
from conversations.access import thread_count
from conversations.models import Thread
from conversations.services import search
from tests.factories.conversations import ThreadFactory, VisitorFactory

OLDER = "conversations", "0001_initial"


@pytest.fixture
def older(transactional_db: None, chatbot: Chatbot) -> Iterator[Any]:
    """The models of the first version, whose tables the database has."""
    call_command("migrate", *OLDER, verbosity=0)
    try:
        yield MigrationExecutor(connection).loader.project_state([OLDER]).apps
    finally:
        call_command("migrate", "conversations", verbosity=0)


def test_an_older_database_keeps_its_conversations(older: Any, chatbot: Chatbot) -> None:
    old_thread, old_message = (
        older.get_model("conversations", name) for name in ("Thread", "Message")
    )
    owner, visitor = chatbot.account.owner, VisitorFactory(chatbot=chatbot)
    ids = {"chatbot_id": chatbot.pk, "visitor_id": visitor.pk}
    answered = old_thread(last_agent_id=owner.pk, tags=["billing"], **ids)
    quiet, failed = old_thread(**ids), old_thread(**ids)
    for thread in (answered, quiet, failed):
        thread.save()
    for position, reason in enumerate(("timeout", "timeout", None), start=1):
        message = old_message(thread=failed, position=position, message_type="AI_MESSAGE")
        message.fallback_reason, message.content = reason, "Sorry"
        message.save()
        at = datetime(2026, 1, position, tzinfo=UTC)
        old_message.objects.filter(pk=message.pk).update(created_at=at)
    call_command("migrate", "conversations", verbosity=0)
    columns = Thread.objects.order_by("pk").values_list("pk", "assignee", "fallback_at")
    assert list(columns) == [
        (answered.pk, owner.pk, None),
        (quiet.pk, None, None),
        (failed.pk, None, datetime(2026, 1, 2, tzinfo=UTC)),
    ]
    added = ThreadFactory(chatbot=chatbot, tags=["billing"])
    assert set(search.find("billing", None).threads) == {answered.pk, added.pk}
    Thread.objects.get(pk=answered.pk).delete()
    assert thread_count(chatbot.pk) == 3
    assert set(search.find("billing", None).threads) == {added.pk}
