"""No request to the admin shows or changes rows of another account."""

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.admin import ModelAdmin
from django.db.models import Model
from django.test import Client, RequestFactory
from django.urls import reverse

from accounts.admin.scope import ScopedAdmin, declared_lookups
from accounts.models import Account
from chatbots.models import LlmModel
from conversations.models import Draft, Lead, Message, Thread, Visitor
from tests.admin_urls import addresses
from tests.factories.accounts import AccountFactory, MembershipFactory, PlanFactory
from tests.factories.chatbots import ChatbotFactory
from tests.factories.staff import signed_in, superuser
from tests.factories.tenant import Tenant
from tests.pages import submit
from webhooks.models import Delivery

MARK = "zebracrossing"  # occurs in most of the other account's texts
LISTS = {
    reverse(f"admin:{model._meta.label_lower.replace('.', '_')}_changelist"): page
    for model, page in admin.site._registry.items()
}
QUERIES = ({"view": "all"}, {"view": "waiting"}, {"state__exact": "FAILED"})
AUTOCOMPLETE = [
    {
        "app_label": model._meta.app_label,
        "model_name": model._meta.model_name,
        "field_name": field.name,
    }
    for model in apps.get_models()
    for field in model._meta.get_fields()
    if field.concrete and field.is_relation
]
FORM = {
    **dict.fromkeys(("content", "title", "tag", "tags", "name", "description"), "intruded"),
    **dict.fromkeys(("password1", "password2"), "intruded-12345"),
    "to": "AGENT",
    "resolved": "1",
    "event": "NEW_LEAD",
    "url": "https://example.com/intruded",
    "events": "NEW_LEAD",
    "secret_choice": "make",
    "post": "yes",
}


@pytest.fixture
def foreign(default_model: Any) -> Tenant:
    return Tenant(MARK)


@pytest.fixture
def own(foreign: Tenant) -> Tenant:
    return Tenant("mine")


@pytest.fixture
def manager(own: Tenant) -> Client:
    return signed_in(own.owner)


@pytest.fixture
def agent(own: Tenant) -> Client:
    return signed_in(own.member)


def answers(client: Client, address: str, tenant: Tenant) -> Iterator[tuple[str, Any]]:
    """Send a GET request and a POST request that could change rows. Yields labels and responses.

    If the address belongs to a list, this calls `answers_of_list` instead.
    """
    if page := LISTS.get(address):
        yield from answers_of_list(client, address, tenant, page)
        return
    draft = {"draft": tenant.keys_of(Draft)[0]}
    yield f"GET {address}", client.get(address, draft)
    yield f"POST {address}", client.post(address, FORM | draft)


def answers_of_list(
    client: Client, address: str, tenant: Tenant, page: ModelAdmin
) -> Iterator[tuple[str, Any]]:
    """Request a list with filters and searches, and run all of its actions on a tenant's rows."""
    keys = [key for model in (Thread, Delivery, Visitor, Lead) for key in tenant.keys_of(model)]
    searches = [{"q": words} for words in (MARK[:-1], *keys) if page.search_fields]
    for query in ({}, *QUERIES, {"chatbot": str(tenant.chatbot.pk)}, *searches):
        yield f"GET {address} {query}", client.get(address, query)
    chosen = tenant.keys_of(page.model)
    for action in ("delete_selected", *page.actions):
        given = {"action": action, "_selected_action": chosen, "select_across": "1"}
        yield f"POST {address} {action}", client.post(address, FORM | given)


def said(answer: Any) -> str:
    """Return the text of a response in lowercase."""
    text = b"".join(answer) if answer.streaming else answer.content
    return text.decode(errors="replace").lower()


@pytest.mark.slow
@pytest.mark.parametrize("who", ["manager", "agent"])
def test_no_address_shows_or_changes_rows_of_another_account(
    who: str, request: pytest.FixtureRequest, foreign: Tenant, own: Tenant
) -> None:
    client = request.getfixturevalue(who)
    before, asked = foreign.snapshot(), 0
    for address in dict.fromkeys(addresses(foreign)):
        for way, answer in answers(client, address, foreign):
            assert answer.status_code in (200, 302, 304, 400, 403, 404, 405), way
            assert MARK not in said(answer), way
            asked += 1
    assert len(AUTOCOMPLETE) > 40
    for field in AUTOCOMPLETE:
        for term in ("", MARK[:-1]):
            found = client.get(reverse("admin:autocomplete"), field | {"term": term})
            assert MARK not in said(found), field
    assert asked > 300
    assert foreign.snapshot() == before


@pytest.mark.slow
@pytest.mark.parametrize("who", [pytest.param("manager", marks=pytest.mark.slow), "agent"])
def test_no_id_in_a_query_or_a_form_shows_or_changes_rows_of_another_account(
    who: str, request: pytest.FixtureRequest, foreign: Tenant, own: Tenant
) -> None:
    """The requests open the user's own rows, but pass ids of the other account's rows.

    Pages that delete or erase rows are skipped, because no rows would be left to open.
    """
    client, keys = request.getfixturevalue(who), {str(row.pk) for row in own.rows}
    Delivery.objects.filter(chatbot=foreign.chatbot).update(is_test=True)
    kinds = {"draft": Draft, "message": Message, "before": Message, "test": Delivery}
    ids = {name: foreign.keys_of(kind)[0] for name, kind in kinds.items()}
    before, asked = foreign.snapshot(), 0
    for address in dict.fromkeys(addresses(own)):
        if not keys & {*address.split("/")} or address.endswith(("/delete/", "/erase/")):
            continue
        for send, given in ((client.get, ids), (client.post, FORM | ids)):
            assert MARK not in said(send(address, given)), address
            asked += 1
    assert foreign.snapshot() == before
    assert asked > 80


@pytest.mark.parametrize("who", [pytest.param("manager", marks=pytest.mark.slow), "agent"])
def test_a_row_of_another_account_looks_like_a_missing_row(
    who: str, request: pytest.FixtureRequest, foreign: Tenant, own: Tenant
) -> None:
    client = request.getfixturevalue(who)
    missing = {
        str(row.pk): "1234567" if isinstance(row.pk, int) else str(uuid4()) for row in foreign.rows
    }
    compared = 0
    for address in dict.fromkeys(addresses(foreign)):
        parts = address.split("/")
        if not set(parts) & set(missing):
            continue
        other = "/".join(missing.get(part, part) for part in parts)
        for send in (client.get, lambda url: client.post(url, FORM)):
            answers = [(send(url), url) for url in (address, other)]
            told = [
                (answer.status_code, answer.get("Location", "").replace(url, ""))
                for answer, url in answers
            ]
            status, location = told[0]
            place = "/".join(missing.get(part, part) for part in location.split("/"))
            assert (status, place) == told[1], address
            compared += 1
    assert compared > 80


OWN = [
    *("chatbots_chatbot", "chatbots_instruction", "chatbots_persona", "webhooks_endpoint"),
    *("webhooks_delivery", "conversations_thread", "conversations_lead", "conversations_visitor"),
]


@pytest.mark.parametrize("who", ["manager", "agent"])
def test_the_rows_of_the_users_own_account_are_listed(
    who: str, request: pytest.FixtureRequest, own: Tenant
) -> None:
    client = request.getfixturevalue(who)
    for page in OWN:
        answer = client.get(reverse(f"admin:{page}_changelist"))
        assert "mine" in answer.content.decode(), page


def test_an_agent_sees_only_the_chatbots_that_the_agent_was_added_to(
    agent: Client, own: Tenant
) -> None:
    ChatbotFactory(account=own.account, name="another bot")
    page = agent.get(reverse("admin:chatbots_chatbot_changelist")).content.decode()
    assert "mine bot" in page
    assert "another bot" not in page


@pytest.mark.parametrize("page", ["accounts_plan", "chatbots_llmmodel"])
def test_plans_and_models_are_open_only_to_superusers(page: str, manager: Client) -> None:
    assert manager.get(reverse(f"admin:{page}_changelist")).status_code == 403
    assert manager.post(reverse(f"admin:{page}_add"), FORM).status_code == 403


def test_an_account_manager_cannot_change_the_plan_the_owner_or_the_add_on(
    manager: Client, own: Tenant
) -> None:
    other = AccountFactory(plan=PlanFactory(name="Starter"))
    taken = {"plan": str(other.plan.pk), "owner": str(other.owner.pk), "webhooks_enabled": ""}
    address = reverse("admin:accounts_account_change", args=[own.account.pk])
    submit(manager, address, name="renamed", **taken)
    after = Account.objects.get(pk=own.account.pk)
    assert after.name == "renamed"
    assert (after.owner, after.plan, after.webhooks_enabled) == (own.owner, own.account.plan, True)


def test_a_member_without_chatbots_sees_a_message(default_model: LlmModel) -> None:
    client = signed_in(MembershipFactory().user)
    assert (
        "There are no chatbots that you can open"
        in client.get(reverse("admin:index")).content.decode()
    )


CROSSING = (
    "visitor__email__startswith",
    "chatbot__account__owner__password__startswith",
    "user__password__startswith",
    "account__owner__password__regex",
    "password__startswith",
)


@pytest.mark.slow
@pytest.mark.parametrize("model", admin.site._registry, ids=lambda model: model._meta.label_lower)
def test_a_list_accepts_only_the_lookups_of_its_filters(
    model: type[Model], default_model: LlmModel
) -> None:
    page, asking = admin.site._registry[model], RequestFactory().get("/")
    asking.user = superuser()
    client = signed_in(asking.user, raise_request_exception=False)
    address = reverse(f"admin:{model._meta.label_lower.replace('.', '_')}_changelist")
    declared = declared_lookups(page, asking)
    columns = {f"{field.name}__startswith" for field in model._meta.get_fields()}
    for lookup in {*CROSSING, *columns} - declared:
        assert client.get(address, {lookup: "1"}).status_code == 400, lookup
    for lookup in declared:
        for value in ("1", "", "x", "\0", "9" * 5_000, "²"):
            assert client.get(address, {lookup: value}).status_code in (200, 302, 400), lookup


def test_every_page_of_the_admin_is_scoped() -> None:
    assert not [m for m, page in admin.site._registry.items() if not isinstance(page, ScopedAdmin)]
