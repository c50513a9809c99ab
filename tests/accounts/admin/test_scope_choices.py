"""A page offers a limited number of choices, whether there are 30 or 1,000 rows to choose from."""

import re

import pytest
from django.contrib import admin
from django.test import Client, RequestFactory
from django.urls import resolve, reverse

from accounts.admin.scope import declared_lookups
from accounts.models import Account, Membership, Plan, User
from chatbots.models import Chatbot, LlmModel
from tests.admin_urls import pages
from tests.factories import bulk
from tests.factories.staff import ACCOUNT_ADMINS, signed_in, staff
from tests.factories.tenant import Tenant

FEW, MANY = 30, 1_000  # a list shows 25 rows, and a select offers at most 200
# Maximum ratio of a page's length with MANY rows to its length with FEW rows. A page may become
# longer, because it can have two filters that offer up to 200 rows each.
GROWTH = 1.7
OPTIONS = 300  # maximum number of options in a select
SELECT = re.compile(r"<select\b[^>]*?\bname=\"([^\"]*)\".*?</select>", re.DOTALL)
LOADED = {
    User: {"email": "'user' || ({n}) || '@example.com'"},
    Plan: {"name": "'plan ' || ({n})"},
    LlmModel: {"title": "'model ' || ({n})", "is_default": "false"},
    Account: {"name": "'account ' || ({n})"},
    Chatbot: {"name": "'bot ' || ({n})"},
}


def copy_all(tenant: Tenant, *, more: int, after: int) -> None:
    """Store `more` additional rows of each kind that a form or a filter offers."""
    rows = [tenant.owner, tenant.account.plan, LlmModel.objects.get(is_default=True)]
    for row in (*rows, tenant.account, tenant.chatbot):
        columns = {name: sql.format(n=f"s.n + {after}") for name, sql in LOADED[type(row)].items()}
        bulk.copy(row, more, columns)
    member = Membership.objects.get(user=tenant.member)
    left = "SELECT user_id FROM accounts_membership"
    people = f"(SELECT id AS user_id FROM {User._meta.db_table} WHERE id NOT IN ({left}))"
    bulk.copy(member, more, {"user_id": "s.user_id"}, source=people)


def with_choices(client: Client, tenant: Tenant, person: User) -> list[str]:
    """Return the addresses of all pages, of filtered lists, and of prefilled add forms."""
    asking = RequestFactory().get("/")
    asking.user = person
    chosen = {"account": tenant.account.pk, "chatbot": tenant.chatbot.pk}
    chosen["plan__id__exact"] = chosen["plan"] = tenant.account.plan_id
    lists = {
        reverse(f"admin:{model._meta.label_lower.replace('.', '_')}_changelist"): page
        for model, page in admin.site._registry.items()
    }
    found = list(pages(client, tenant))
    for address in [*found]:
        if page := lists.get(address):
            named = [name for name in declared_lookups(page, asking) if name in chosen]
            found += [f"{address}?{name}={chosen[name]}" for name in named]
        elif resolve(address).view_name.endswith("_add"):
            found.append(f"{address}?chatbot={tenant.chatbot.pk}&account={tenant.account.pk}")
    return found


def sizes(client: Client, addresses: list[str]) -> dict[str, tuple[int, dict[str, int]]]:
    """Return the length of each page in bytes, and the number of options in each select."""
    found = {}
    for address in addresses:
        answer = client.get(address)
        assert answer.status_code == 200, address
        selects = {match[1]: match[0].count("<option") for match in SELECT.finditer(answer.text)}
        found[address] = (len(answer.content), selects)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("who", ["superuser", "manager"])
def test_no_page_grows_with_the_rows_that_it_offers(who: str, default_model: LlmModel) -> None:
    tenant = Tenant("mine")
    person = staff(tenant.owner, ACCOUNT_ADMINS)
    person.is_superuser = who == "superuser"
    person.save()
    client = signed_in(person)
    copy_all(tenant, more=FEW - 1, after=0)
    addresses = with_choices(client, tenant, person)
    few = {address: size for address, size in sizes(client, addresses).items() if size[1]}
    copy_all(tenant, more=MANY - FEW, after=FEW)
    many = sizes(client, list(few))
    assert sum(len(selects) for _, selects in few.values()) > 40
    long = {
        f"{address} {name}": options
        for address, (_, selects) in many.items()
        for name, options in selects.items()
        if options > OPTIONS
    }
    assert long == {}
    grown = {
        address: (few[address][0], length)
        for address, (length, _) in many.items()
        if length > GROWTH * few[address][0]
    }
    assert grown == {}
