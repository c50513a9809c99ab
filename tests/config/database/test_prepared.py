"""A prepared statement returns what its queryset returns, and is compiled once for each shape.

A shape is the variant of a statement that is built for one combination of positional arguments.
"""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from django.conf import settings
from django.db import DatabaseError, IntegrityError, connection, transaction
from django.db.models import CharField, Count, F, Q, QuerySet, UUIDField
from django.db.models.functions import Now
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import Account, ApiKey, Invitation, Plan
from chatbots.models import Appearance, Chatbot, FollowUpPrompt, Persona
from config.database.ids import new_id
from config.database.prepared import (
    Given,
    Update,
    insert,
    page,
    prepared,
    prepared_delete,
    prepared_update,
    update_columns,
    update_each,
)
from tests.factories.accounts import AccountFactory, UserFactory
from tests.factories.chatbots import ChatbotFactory, PersonaFactory
from tests.patience import PATIENCE

EARLIER = datetime(2026, 1, 2, 3, 4, 5, 6, UTC)

pytestmark = pytest.mark.django_db

ID = Given("id", UUIDField())
ACCOUNT = prepared(lambda: Account.objects.filter(pk=ID))
RENAME = prepared_update(
    lambda: Update(Account.objects.filter(pk=ID), {"name": Given("name", CharField())}, ("name",))
)


def of(account: Any) -> Any:
    """Select an account's chatbots, ordered by name."""
    return Chatbot.objects.filter(account=account).order_by("name")


@pytest.mark.parametrize(
    "build",
    [
        pytest.param(of, id="instances"),
        pytest.param(lambda account: of(account).only("name"), id="columns of instances"),
        pytest.param(lambda account: of(account).values_list("id", "created_at"), id="tuples"),
        pytest.param(lambda account: of(account).values_list("name", flat=True), id="values"),
        pytest.param(lambda account: of(account).values("id", x=F("account__name")), id="dicts"),
        pytest.param(lambda account: of(account).values_list("is_active"), id="booleans"),
        pytest.param(lambda account: of(account).values_list("appearance__font_family"), id="json"),
        pytest.param(
            lambda account: of(account).values_list("description", "erased_at"), id="null"
        ),
        pytest.param(lambda account: of(account)[1:2], id="slice"),
        pytest.param(lambda account: of(account).filter(name__in=["a", "b"]), id="constants"),
        pytest.param(lambda account: of(account).exclude(name__contains="%s"), id="percent signs"),
        pytest.param(
            lambda account: of(account).order_by().values_list(Count("pk"), flat=True), id="count"
        ),
        pytest.param(
            lambda account: of(account).filter(pk__in=of(account)[:2].values("pk")), id="subquery"
        ),
        pytest.param(
            lambda account: Chatbot.objects.filter(
                pk__in=of(account)
                .order_by()
                .values("pk")
                .union(Chatbot.objects.filter(account=account).order_by().values("pk"))
            ).order_by("name"),
            id="union",
        ),
    ],
)
def test_the_results_are_those_of_the_queryset(build: Callable[..., Any]) -> None:
    account = AccountFactory()
    for name in "abc":
        ChatbotFactory(name=name, account=account)
    ChatbotFactory(name="d")
    statement = prepared(lambda: build(Given("account", UUIDField())))
    assert statement.rows(account=account.pk) == list(build(account.pk)) != []
    assert statement.rows(account=new_id()) == list(build(new_id()))


def test_an_instance_has_its_related_rows_and_annotations() -> None:
    known = ChatbotFactory()
    rows = Chatbot.objects.select_related("account__plan").annotate(owner=F("account__owner"))
    found = prepared(lambda: rows.filter(pk=ID)).get(id=known.pk)
    with CaptureQueriesContext(connection) as queries:
        assert found.account.plan.name == known.account.plan.name
        assert (found.owner, found.erased_at) == (known.account.owner_id, None)
        found.name = "saved as usual"
    assert not queries
    found.save()
    assert Chatbot.objects.get(pk=known.pk).name == "saved as usual"


def test_a_statement_is_compiled_once_for_each_shape() -> None:
    built = []

    def build(limit: Any) -> QuerySet[Plan]:
        built.append(limit)
        return Plan.objects.order_by("name")[:limit]

    statement = prepared(build)
    assert [len(statement.rows(limit)) for limit in (1, 2, 1, 2)] == [1, 2, 1, 2]
    assert built == [1, 2]


@pytest.mark.django_db(transaction=True)
def test_threads_share_a_statement() -> None:
    account, begin = AccountFactory(), threading.Barrier(8)
    statement = prepared(lambda: Account.objects.filter(pk=ID))

    def run(_: int) -> Any:
        begin.wait(PATIENCE)
        try:
            return statement.first(id=account.pk)
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(run, range(8))) == [account] * 8


def test_a_page_takes_its_limit_and_offset_as_values() -> None:
    account = AccountFactory()
    for name in "abcde":
        ChatbotFactory(name=name, account=account)
    outer = prepared(lambda: page(of(ID).exclude(name="a").values_list("name", flat=True)))
    assert outer.rows(id=account.pk, limit=2, offset=1) == ["c", "d"]
    assert outer.rows(id=account.pk, limit=9, offset=3) == ["e"]
    inner = prepared(lambda: of(ID).filter(pk__in=page(of(ID)).values("pk"), is_active=True))
    assert [bot.name for bot in inner.rows(id=account.pk, limit=2, offset=3)] == ["d", "e"]


@pytest.mark.parametrize(
    "condition",
    [
        {"created_at__gt": datetime(2026, 1, 2, 3, 4, 5, 6, UTC)},
        {"created_at__gt": datetime(2026, 1, 2, tzinfo=UTC)},
        {"created_at__date": date(2026, 1, 2)},
        {"pk": UUID("019aa000-0000-7000-8000-000000000000")},
        {"name": "019aa000-0000-7000-8000-000000000000"},
        {"owner__in": [UUID("019aa000-0000-7000-8000-000000000000")]},
    ],
    ids=str,
)
def test_a_computed_value_is_refused(condition: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match="computed"):
        prepared(lambda: Account.objects.filter(**condition)).rows()


def test_a_null_value_is_refused() -> None:
    with pytest.raises(ValueError, match="id is None"):
        ACCOUNT.rows(id=None)


def test_a_lock_needs_a_transaction_each_time(transactional_db: None) -> None:
    statement = prepared(lambda: Account.objects.select_for_update().filter(pk=ID))
    account = AccountFactory()
    with transaction.atomic():
        assert statement.first(id=account.pk) == account
    with pytest.raises(transaction.TransactionManagementError):
        statement.first(id=account.pk)


def test_statements_are_seen_by_counters_and_wrappers() -> None:
    account, seen = AccountFactory(), []

    def wrapper(execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
        seen.append(sql)
        return execute(sql, *rest)

    with CaptureQueriesContext(connection) as queries, connection.execute_wrapper(wrapper):
        ACCOUNT.rows(id=account.pk)
        RENAME.run(id=account.pk, name="new")
    assert len(queries) == len(seen) == 2
    assert account.pk.hex in queries[0]["sql"].replace("-", "")


def test_a_statement_survives_a_rollback_and_another_connection(transactional_db: None) -> None:
    account = AccountFactory()
    for _ in range(3):
        assert ACCOUNT.first(id=account.pk) == account
        with pytest.raises(ZeroDivisionError), transaction.atomic():
            RENAME.run(id=account.pk, name="lost")
            raise ZeroDivisionError
        assert ACCOUNT.get(id=account.pk).name == account.name
    connection.close()
    assert ACCOUNT.first(id=account.pk) == account


def test_an_update_changes_rows_and_reads_them() -> None:
    account = AccountFactory()
    assert RENAME.rows(id=account.pk, name="first") == [("first",)]
    assert RENAME.run(id=account.pk, name="second") == 1
    assert RENAME.run(id=new_id(), name="third") == 0
    account.refresh_from_db()
    assert account.name == "second"


def test_an_update_can_compute_a_value_and_store_null() -> None:
    chatbot = ChatbotFactory(description="text")
    owner = Given("owner", Chatbot._meta.get_field("created_by_user"))
    statement = prepared_update(
        lambda: Update(
            Chatbot.objects.filter(Q(pk=ID), account__name__gt=""),
            {"created_by_user": owner, "name": F("description")},
            ("name", "created_by_user", "created_at"),
        )
    )
    for person in (chatbot.account.owner_id, None):
        assert statement.get(id=chatbot.pk, owner=person) == ("text", person, chatbot.created_at)


def test_inserted_rows_are_complete() -> None:
    chatbot = ChatbotFactory()
    rows = [FollowUpPrompt(chatbot=chatbot, link_text=f"{n} %s", rank=n) for n in range(3)]
    with CaptureQueriesContext(connection) as queries:
        insert(*rows)
    assert len(queries) == 1
    assert list(FollowUpPrompt.objects.filter(chatbot=chatbot)) == rows
    assert [row.created_at for row in rows] == [
        row.created_at for row in FollowUpPrompt.objects.all()
    ]
    rows[0].link_text = "saved"
    rows[0].save()
    assert FollowUpPrompt.objects.count() == 3


def test_a_row_is_inserted_with_its_json_values() -> None:
    chatbot = ChatbotFactory()
    Appearance.objects.filter(chatbot=chatbot).delete()
    insert(Appearance(chatbot=chatbot, font_family={"a": ["ä", None, 1.5]}))
    assert Appearance.objects.get(chatbot=chatbot).font_family == {"a": ["ä", None, 1.5]}


def test_the_database_computes_columns_of_an_inserted_row() -> None:
    begun = timezone.now()
    for prefix in "ab":
        key = ApiKey(user=UserFactory(), prefix=prefix)
        insert(key, last_used_at=Now() + timedelta(hours=1))
        key.refresh_from_db()
        later = key.last_used_at - begun
        # SQLite's clock has a resolution of a millisecond.
        assert timedelta(milliseconds=-1) < later - timedelta(hours=1) < timedelta(minutes=5)
    assert key.expires_at is None


def test_only_the_rows_of_the_queryset_are_deleted() -> None:
    kept, gone = (PersonaFactory() for _ in range(2))
    delete = prepared_delete(lambda: Persona.objects.filter(pk=ID))
    assert [delete.run(id=gone.pk) for _ in range(2)] == [1, 0]
    assert Persona.objects.get() == kept


def test_a_row_of_a_model_with_its_own_save_method_is_refused() -> None:
    with pytest.raises(TypeError, match="Account"):
        insert(Account(name="a", owner=AccountFactory().owner))


def test_a_violated_constraint_marks_the_transaction() -> None:
    chatbot = ChatbotFactory()
    again = Chatbot(account=chatbot.account, name=chatbot.name)
    with pytest.raises(IntegrityError), transaction.atomic():
        insert(again)
    with transaction.atomic():
        with pytest.raises(IntegrityError):
            insert(again)
        assert connection.needs_rollback
        transaction.set_rollback(False) if settings.EMBEDDED else transaction.set_rollback(True)


def test_only_the_named_columns_are_saved() -> None:
    chatbot = ChatbotFactory(description="old")
    before = chatbot.updated_at
    chatbot.name, chatbot.description, chatbot.created_by_user_id = "new", "not saved", None
    update_columns(chatbot, ["name", "created_by_user_id", "updated_at"])
    assert chatbot.updated_at > before
    stored = Chatbot.objects.get(pk=chatbot.pk)
    assert (stored.name, stored.description) == ("new", "old")
    assert (stored.created_by_user_id, stored.updated_at) == (None, chatbot.updated_at)


def test_each_row_gets_its_own_values() -> None:
    rows = ChatbotFactory.create_batch(3)
    update_each(Chatbot, {})
    update_each(
        Chatbot,
        {
            rows[0].pk: {"name": "Ada", "updated_at": EARLIER},
            rows[1].pk: {"name": "Ben", "updated_at": EARLIER},
            new_id(): {"name": "no such row", "updated_at": EARLIER},
        },
    )
    stored = dict(Chatbot.objects.filter(updated_at=EARLIER).values_list("pk", "name"))
    assert stored == {rows[0].pk: "Ada", rows[1].pk: "Ben"}


def test_a_deleted_row_is_not_saved() -> None:
    chatbot = ChatbotFactory()
    Chatbot.objects.filter(pk=chatbot.pk).delete()
    with pytest.raises(DatabaseError, match="no longer exists"):
        update_columns(chatbot, ["name"])


def kept(text: str) -> int:
    """Count this session's prepared statements whose SQL contains the text."""
    with connection.cursor() as cursor:
        query = "SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE %s"
        cursor.execute(query, [f"%{text}%"])
        return cursor.fetchone()[0]


@pytest.mark.skipif(settings.EMBEDDED, reason="SQLite keeps a plan for any statement")
def test_the_server_keeps_the_plans_of_prepared_statements() -> None:
    statement = prepared(lambda: Invitation.objects.filter(pk=ID).values_list("email"))
    before = kept("accounts_invitation")
    assert statement.rows(id=new_id()) == statement.rows(id=new_id()) == []
    list(Invitation.objects.all())
    assert kept("accounts_invitation") == before + 1


@pytest.mark.skipif(settings.EMBEDDED, reason="SQLite keeps a plan for any statement")
def test_plans_are_not_kept_behind_a_pooler_that_changes_sessions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(settings, "PREPARED_STATEMENTS", False)
    statement = prepared(lambda: Invitation.objects.filter(pk=ID))
    before = kept("accounts_invitation")
    assert statement.rows(id=new_id()) == statement.rows(id=new_id()) == []
    assert kept("accounts_invitation") == before
