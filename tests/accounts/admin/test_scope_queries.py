"""Every admin page needs the same few queries whether there are 10 or 10,000 rows of each kind.

There are only about 300 accounts and chatbots, and rows of kinds with one row for each chatbot,
because a manager's pages read the ids of all of them.
"""

import pytest
from django.db import connection
from django.db.models import Model
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.models import Account, ApiKey, Change, Mail, Membership, User
from chatbots.models import Chatbot, Instruction, LlmModel, Localization, Persona
from conversations.models import Lead, Message, Thread, Visitor
from tests.admin_urls import pages
from tests.factories import bulk
from tests.factories.staff import signed_in
from tests.factories.tenant import Tenant
from webhooks.models import Delivery, Endpoint, RetryJob

FEW, MANY = 10, 10_000
# Maximum number of queries for a chatbot's page, for any other form, and for a list
BOT, FORM, LIST = 32, 20, 12
FEWER = {Account: 300, Chatbot: 300}
# The columns in which the copies of a row differ. All copies keep the row's account, chatbot and
# thread.
COPIES: dict[type[Model], dict[str, str]] = {
    User: {"email": "'user' || ({n}) || '@example.com'"},
    Account: {},
    ApiKey: {"prefix": "'p' || ({n})", "digest": "'d' || ({n})"},
    Mail: {},
    Change: {},
    Chatbot: {"name": "'bot ' || ({n})"},
    Visitor: {"external_id": "'visitor ' || ({n})"},
    Thread: {},
    Message: {"position": "1 + {n}"},
    Delivery: {"position": "1 + {n}"},
    RetryJob: {},
}
# Models that get one row for each copy of a parent row, as tuples of model, column and parent
OF_COPIES: tuple[tuple[type[Model], str, type[Model]], ...] = (
    (Membership, "user_id", User),
    (Instruction, "chatbot_id", Chatbot),
    (Localization, "chatbot_id", Chatbot),
    (Persona, "chatbot_id", Chatbot),
    (Endpoint, "chatbot_id", Chatbot),
    (Lead, "thread_id", Thread),
)


def copy_all(tenant: Tenant, *, more: int, after: int) -> None:
    """Store up to `more` additional rows of each kind, numbered after the existing rows."""
    row_of = {type(row): row for row in tenant.rows}
    for model, columns in COPIES.items():
        named = {name: sql.format(n=f"s.n + {after}") for name, sql in columns.items()}
        bulk.copy(row_of[model], min(more, FEWER.get(model, more)), named)
    for model, column, parent in OF_COPIES:
        table, parents = model._meta.db_table, parent._meta.db_table
        left = f"SELECT {column} FROM {table}"
        source = f"(SELECT id AS {column} FROM {parents} WHERE id NOT IN ({left}))"
        bulk.copy(row_of[model], more, {column: f"s.{column}"}, source=source)


def most(address: str, template: str) -> int:
    """Return the maximum number of queries for a page."""
    if template == "admin/change_list.html":
        return LIST
    return BOT if "/chatbots/chatbot/" in address else FORM


def queries(client: Client, address: str) -> int:
    with CaptureQueriesContext(connection) as captured:
        assert client.get(address).status_code == 200
    return len(captured)


@pytest.mark.slow
@pytest.mark.parametrize("who", ["superuser", "manager"])
def test_every_page_needs_the_same_few_queries_at_any_number_of_rows(
    who: str, default_model: LlmModel
) -> None:
    tenant = Tenant("mine")
    person = tenant.owner
    User.objects.filter(pk=person.pk).update(is_superuser=who == "superuser")
    client = signed_in(person)
    copy_all(tenant, more=FEW - 1, after=0)
    found = pages(client, tenant)
    assert len(found) > 60
    few = {address: queries(client, address) for address in found}
    copy_all(tenant, more=MANY - FEW, after=FEW)
    many = {address: queries(client, address) for address in found}
    assert {address: count for address, count in many.items() if count != few[address]} == {}
    over = {page: few[page] for page, template in found.items() if few[page] > most(page, template)}
    assert over == {}
