"""No GET request to the admin changes a row."""

from typing import Any

import pytest
from django.apps import apps
from django.contrib.sessions.models import Session
from django.urls import reverse

from accounts.models import User
from tests.admin_urls import addresses
from tests.factories.staff import signed_in
from tests.factories.tenant import Tenant

INBOX = reverse("admin:conversations_thread_changelist")
# Columns whose values change when a user signs in
SIGN_IN = {Session: {"session_data", "expire_date"}, User: {"last_login"}}


def everything() -> dict[str, list[dict[str, Any]]]:
    """Read all rows of all tables, without the columns in SIGN_IN."""
    rows = {}
    for model in apps.get_models(include_auto_created=True):
        columns = [
            field.attname
            for field in model._meta.concrete_fields
            if field.attname not in SIGN_IN.get(model, ())
        ]
        rows[model._meta.label] = list(model._default_manager.order_by("pk").values(*columns))
    return rows


def queries(address: str, tenant: Tenant) -> list[dict[str, str]]:
    """Return the queries to try: an empty one and, unless the address names a row, a search."""
    if {str(row.pk) for row in tenant.rows} & {*address.split("/")}:
        return [{}]
    return [{}, {"q": tenant.word, "view": "all"} if address == INBOX else {"q": tenant.word}]


@pytest.mark.slow
@pytest.mark.parametrize("who", ["agent", "superuser", "manager"])
def test_no_get_request_changes_a_row(who: str, default_model: Any) -> None:
    tenant = Tenant("mine")
    person = tenant.member if who == "agent" else tenant.owner
    User.objects.filter(pk=person.pk).update(is_superuser=who == "superuser")
    client = signed_in(person)
    client.get("/admin/")  # writes the session
    before, asked = everything(), 0
    assert sum(map(len, before.values())) > 50
    for address in dict.fromkeys(addresses(tenant)):
        for query in queries(address, tenant):
            client.get(address, query)
            asked += 1
    assert everything() == before
    assert asked > 200
