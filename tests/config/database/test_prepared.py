"""A prepared statement returns what its queryset returns, and is compiled once for each shape."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from django.conf import settings
from django.db import DatabaseError, IntegrityError, connection, transaction
from django.db.models import Count, F
from django.db.models.functions import Now
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import Account, ApiKey
from chatbots.models import Appearance, Chatbot
from config.database import prepared
from config.database.ids import new_id
from config.database.prepared import Delete, Update, insert, prepare, update_columns, update_each
from conversations.models import Draft, Message
from tests.factories.accounts import AccountFactory, UserFactory
from tests.factories.chatbots import ChatbotFactory
from tests.factories.conversations import ThreadFactory
from tests.patience import PATIENCE

pytestmark = pytest.mark.django_db


def of(account: Any) -> Any:
    """Select an account's chatbots, ordered by name."""
    return Chatbot.objects.filter(account=account).order_by("name")


def renamed(*, account: UUID, name: str) -> Update:
    return Update(Account.objects.filter(pk=account), {"name": name}, ("name", "id", "created_at"))


NAMES = prepare(lambda *, account: of(account).values_list("name"))
RENAME = prepare(renamed)


@pytest.mark.parametrize(
    "build",
    [
        pytest.param(lambda account: of(account).values_list("id", "created_at"), id="columns"),
        pytest.param(lambda account: of(account).values_list("is_active"), id="booleans"),
        pytest.param(lambda account: of(account).values_list("appearance__font_family"), id="json"),
        pytest.param(lambda account: of(account).values_list("erased_at"), id="null"),
        pytest.param(lambda account: of(account).values_list("pk")[1:2], id="slice"),
        pytest.param(
            lambda account: of(account).filter(name__in=["a", "b"]).values_list("pk"),
            id="constants",
        ),
        pytest.param(
            lambda account: of(account).exclude(name__contains="%s").values_list("pk"), id="percent"
        ),
        pytest.param(lambda account: of(account).order_by().values_list(Count("pk")), id="count"),
        pytest.param(
            lambda account: of(account).filter(pk__in=of(account)[:2].values("pk")).values_list(),
            id="subquery",
        ),
    ],
)
def test_the_rows_are_those_of_the_queryset(build: Callable[..., Any]) -> None:
    account = AccountFactory()
    for name in "abc":
        ChatbotFactory(name=name, account=account)
    ChatbotFactory(name="d")
    statement = prepare(lambda *, account: build(account))
    for key in (account.pk, new_id()):
        assert statement.rows(account=key) == list(build(key))
    assert statement.rows(account=account.pk)


def test_a_value_of_each_type_is_passed_on() -> None:
    known = ChatbotFactory(name="a", account__remind_after_minutes=7)

    def matching(*, pk: Any, name: Any, since: Any, day: Any, active: Any, text: Any = None) -> Any:
        rows = Chatbot.objects.filter(pk=pk, name=name, created_at__gte=since, is_active=active)
        rows = rows.filter(created_at__date__gte=day)
        return (rows.filter(description=text) if text else rows).values_list("name")

    statement, yesterday = prepare(matching), timezone.now() - timedelta(days=1)
    given = {"pk": known.pk, "name": "a", "since": yesterday, "day": yesterday.date()}
    for changes in ({}, {"name": "b"}, {"since": timezone.now()}, {"active": False}, {"text": "x"}):
        values = {"active": True} | given | changes
        assert statement.rows(**values) == list(matching(**values))
    assert statement.rows(**given, active=True, text=None) == [("a",)]


@pytest.mark.django_db(transaction=True)
def test_threads_share_a_statement() -> None:
    account, begin = ChatbotFactory(name="a").account, threading.Barrier(8)
    statement = prepare(lambda *, account: of(account).values_list("name"))

    def run(_: int) -> Any:
        begin.wait(PATIENCE)
        try:
            return statement.first(account=account.pk)
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(run, range(8))) == [("a",)] * 8


@pytest.mark.parametrize(
    "condition",
    [
        {"created_at__gt": datetime(2026, 1, 2, 3, 4, 5, 6, UTC)},
        {"created_at__date": date(2026, 1, 2)},
        {"pk": UUID("019aa000-0000-7000-8000-000000000000")},
        {"owner__in": [UUID("019aa000-0000-7000-8000-000000000000")]},
    ],
    ids=str,
)
def test_a_computed_value_is_refused(condition: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match="computed"):
        prepare(lambda: Account.objects.filter(**condition).values_list("pk")).rows()


@pytest.mark.parametrize(
    "build",
    [
        lambda *, name: Account.objects.filter(name__contains=name).values_list("pk"),
        lambda *, name: Account.objects.filter(name=name[:5]).values_list("pk"),
        lambda *, name: Account.objects.filter(name=name, plan__name=f"x{name}").values_list("pk"),
        lambda *, name: Account.objects.values_list("pk"),
    ],
)
def test_a_changed_or_unused_value_is_refused(build: Callable[..., Any]) -> None:
    with pytest.raises(TypeError, match=r"parameters|change a value"):
        prepare(build).rows(name="a long name")


def test_statements_are_seen_by_counters_and_wrappers() -> None:
    account, seen = AccountFactory(), []

    def wrapper(execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
        seen.append(sql)
        return execute(sql, *rest)

    with CaptureQueriesContext(connection) as queries, connection.execute_wrapper(wrapper):
        NAMES.rows(account=account.pk)
        RENAME.run(account=account.pk, name="new")
    assert len(queries) == len(seen) == 2
    assert account.pk.hex in queries[0]["sql"].replace("-", "")


def test_a_statement_survives_a_rollback_and_another_connection(transactional_db: None) -> None:
    account = ChatbotFactory(name="a").account
    for _ in range(3):
        with pytest.raises(ZeroDivisionError), transaction.atomic():
            RENAME.run(account=account.pk, name="lost")
            raise ZeroDivisionError
        assert NAMES.rows(account=account.pk) == [("a",)]
    connection.close()
    assert NAMES.first(account=account.pk) == ("a",)
    account.refresh_from_db()
    assert account.name != "lost"


def test_an_update_changes_rows_and_reads_them() -> None:
    account = AccountFactory()
    row = account.pk, account.created_at
    assert RENAME.rows(account=account.pk, name="first") == [("first", *row)]
    assert RENAME.run(account=account.pk, name="second") == 1
    assert RENAME.run(account=new_id(), name="third") == 0
    compute = prepare(
        lambda *, pk, owner: Update(
            Chatbot.objects.filter(pk=pk, account__name__gt=""),
            {"created_by_user": owner, "name": F("description")},
            ("name", "created_by_user"),
        )
    )
    chatbot = ChatbotFactory(description="text")
    for person in (chatbot.account.owner_id, None):
        assert compute.rows(pk=chatbot.pk, owner=person) == [("text", person)]


def test_a_shape_that_is_not_kept_runs_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prepared, "SHAPES", 0)
    account = AccountFactory()
    assert prepare(renamed).run(account=account.pk, name="New") == 1
    account.refresh_from_db()
    assert account.name == "New"


def test_a_delete_deletes_the_selected_rows() -> None:
    deleted, kept = ChatbotFactory().appearance, ChatbotFactory().appearance
    statement = prepare(lambda *, pk: Delete(Appearance.objects.filter(pk=pk)))
    assert [statement.run(pk=deleted.pk) for _ in range(2)] == [1, 0]
    assert Appearance.objects.get() == kept


def test_an_inserted_row_is_complete() -> None:
    chatbot, begun = ChatbotFactory(), timezone.now()
    Appearance.objects.filter(chatbot=chatbot).delete()
    row = Appearance(chatbot=chatbot, font_family={"a": ["ä %s", None, 1.5]})
    insert(row)
    assert Appearance.objects.get(chatbot=chatbot).font_family == {"a": ["ä %s", None, 1.5]}
    assert row.created_at >= begun
    row.bot_icon_src = "saved as usual"
    row.save()
    assert Appearance.objects.get(chatbot=chatbot).bot_icon_src == "saved as usual"


def test_the_database_computes_columns_of_an_inserted_row() -> None:
    begun = timezone.now()
    for prefix in "ab":
        key = ApiKey(user=UserFactory(), prefix=prefix, last_used_at=Now() + timedelta(hours=1))
        insert(key)
        key.refresh_from_db()
        later = key.last_used_at - begun - timedelta(hours=1)
        # SQLite's clock has a resolution of a millisecond.
        assert timedelta(milliseconds=-1) < later < timedelta(minutes=5)


def test_rows_are_inserted_together_or_not_at_all() -> None:
    thread = ThreadFactory()
    message = Message(thread=thread, position=1, content="ä %s")
    draft = Draft(message=message, content="text")
    insert(message, draft)
    assert Draft.objects.get(message__content="ä %s") == draft
    later = Message(thread=thread, position=2)
    with pytest.raises(IntegrityError), transaction.atomic():
        insert(later, Draft(message=message, content="one message has one draft"))
    assert not Message.objects.filter(pk=later.pk).exists()


def test_a_row_of_a_model_with_its_own_save_method_is_refused() -> None:
    with pytest.raises(TypeError, match="Account"):
        insert(Account(name="a", owner=AccountFactory().owner))


def test_a_violated_constraint_marks_the_transaction() -> None:
    chatbot = ChatbotFactory()
    with transaction.atomic():
        with pytest.raises(IntegrityError):
            insert(Chatbot(account=chatbot.account, name=chatbot.name))
        assert connection.needs_rollback
        transaction.set_rollback(not settings.EMBEDDED)


def test_only_the_named_columns_are_saved() -> None:
    chatbot = ChatbotFactory(description="old")
    before = chatbot.updated_at
    chatbot.name, chatbot.description, chatbot.created_by_user_id = "new", "not saved", None
    update_columns(chatbot, ["name", "created_by_user_id", "updated_at"])
    assert chatbot.updated_at > before
    stored = Chatbot.objects.get(pk=chatbot.pk)
    assert (stored.name, stored.description) == ("new", "old")
    assert (stored.created_by_user_id, stored.updated_at) == (None, chatbot.updated_at)
    Chatbot.objects.filter(pk=chatbot.pk).delete()
    with pytest.raises(DatabaseError, match="no longer exists"):
        update_columns(chatbot, ["name"])


def test_different_values_are_saved_in_several_rows() -> None:
    one, other, deleted, unchanged = ChatbotFactory.create_batch(4)
    deleted.delete()
    texts = {one.pk: "one", other.pk: "other", deleted.pk: "deleted"}
    with transaction.atomic():
        update_each(Chatbot, {pk: {"description": text} for pk, text in texts.items()})
        update_each(Chatbot, {})
    found = dict(Chatbot.objects.values_list("pk", "description"))
    assert found == {one.pk: "one", other.pk: "other", unchanged.pk: unchanged.description}
