"""Lists of ids are padded to a few sizes, and any number of rows can be inserted.

A statement with a list is compiled separately for each size of the list.
"""

import pytest
from django.db import IntegrityError, transaction
from django.db.models import UUIDField

from accounts.models import Account
from chatbots.models import Chatbot
from config.database.prepared import among, insert_each, listed, prepared
from conversations.models import Visitor
from tests.factories.accounts import AccountFactory

pytestmark = pytest.mark.django_db


def visitor(chatbot: Chatbot, number: int) -> Visitor:
    return Visitor(chatbot=chatbot, external_id=str(number))


@pytest.mark.parametrize("count", [0, 1, 3])
def test_any_number_of_rows_is_inserted(chatbot: Chatbot, count: int) -> None:
    insert_each([visitor(chatbot, number) for number in range(count)])
    stored = chatbot.visitors.order_by("external_id").values_list("external_id", flat=True)
    assert list(stored) == [str(number) for number in range(count)]


def test_if_one_row_is_refused_none_is_inserted(chatbot: Chatbot) -> None:
    first, twin = visitor(chatbot, 1), visitor(chatbot, 2)
    twin.pk = first.pk
    with pytest.raises(IntegrityError), transaction.atomic():
        insert_each([first, twin])
    assert not chatbot.visitors.exists()


@pytest.mark.parametrize(("count", "size"), [(0, 0), (1, 1), (2, 2), (3, 4), (5, 8), (64, 64)])
def test_a_list_has_the_size_of_the_next_power_of_two(count: int, size: int) -> None:
    found, given = listed("id", range(count))
    assert (found, len(given), set(given.values())) == (size, size, set(range(count)))


def test_rows_are_found_by_a_list_of_ids() -> None:
    statement = prepared(lambda size: Account.objects.filter(pk__in=among("id", UUIDField(), size)))
    AccountFactory()
    accounts = AccountFactory.create_batch(3)
    size, given = listed("id", [account.pk for account in accounts])
    assert {row.pk for row in statement.rows(size, **given)} == {one.pk for one in accounts}
