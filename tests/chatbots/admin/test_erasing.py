"""Deleting rows in the admin: who may do it, and the page that lists what else is deleted."""

import re
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.db.models import Model
from django.test import Client
from django.urls import reverse

from chatbots.models import Chatbot
from conversations.models import Lead, Message, Thread, Visitor
from tests.factories.accounts import AccountFactory, MembershipFactory, UserFactory
from tests.factories.chatbots import ChatbotMemberFactory
from tests.factories.staff import signed_in, superuser
from tests.factories.tenant import Tenant
from tests.factories.webhooks import DeliveryFactory

KINDS = (Thread, Visitor, Lead, Chatbot)
MAY = ("owner", "super admin", "superuser")
MAY_NOT = ("member", "member who manages another account", "stranger")


@pytest.fixture
def tenant(default_model: Any) -> Tenant:
    return Tenant("mine")


def client_of(tenant: Tenant, who: str) -> Client:
    """Sign in as a user with the role that `who` names."""
    if who == "owner":
        return signed_in(tenant.owner)
    if who == "superuser":
        return signed_in(superuser())
    if who == "stranger":
        return signed_in(Tenant("other").owner)
    user = UserFactory()
    role = "SUPER_ADMIN" if who == "super admin" else "MEMBER"
    MembershipFactory(account=tenant.account, user=user, role=role)
    ChatbotMemberFactory(chatbot=tenant.chatbot, user=user)
    if who == "member who manages another account":
        AccountFactory(owner=user)
    return signed_in(user)


def at(row: Any, page: str = "delete") -> str:
    return reverse(f"admin:{row._meta.label_lower.replace('.', '_')}_{page}", args=[row.pk])


def row_of(tenant: Tenant, model: Any) -> Any:
    return next(row for row in tenant.rows if isinstance(row, model))


@pytest.mark.parametrize(
    ("who", "model"), [*(("owner", model) for model in KINDS), *((who, Thread) for who in MAY[1:])]
)
def test_people_who_manage_the_account_can_delete(
    tenant: Tenant, who: str, model: type[Model]
) -> None:
    client, row = client_of(tenant, who), row_of(tenant, model)
    thread = row_of(tenant, Thread)
    event = DeliveryFactory(chatbot=tenant.chatbot, thread_id=thread.pk, event="NEW_LEAD")
    assert at(row) in client.get(at(row, "change")).content.decode()
    page = client.get(at(row))
    assert page.status_code == 200
    assert model.objects.filter(pk=row.pk).exists()  # a GET changes nothing
    answer = client.post(at(row), {"name": "mine bot"}, follow=True)
    assert "was deleted" in answer.content.decode()
    assert not model.objects.filter(pk=row.pk).exists()
    event.refresh_from_db()
    assert bool(event.body) is (model is Chatbot), "only a chatbot's are left to a worker"
    assert LogEntry.objects.get().object_repr == (
        "mine bot" if model is Chatbot else f"{model._meta.verbose_name} {row.pk}"
    )


@pytest.mark.parametrize("who", MAY_NOT)
def test_other_people_cannot_delete(tenant: Tenant, who: str) -> None:
    client, before = client_of(tenant, who), tenant.snapshot()
    for row in (row_of(tenant, model) for model in KINDS):
        assert at(row) not in client.get(at(row, "change")).content.decode()
        for answer in (client.get(at(row)), client.post(at(row), {"name": "mine bot"})):
            assert answer.status_code == (302 if who == "stranger" else 403)
    assert tenant.snapshot() == before


@pytest.mark.parametrize("name", ["", "mine", "MINE BOT"])
def test_a_chatbot_is_deleted_only_after_its_name_is_typed(tenant: Tenant, name: str) -> None:
    page = client_of(tenant, "owner").post(at(tenant.chatbot), {"name": name})
    assert "The name does not match" in page.content.decode()
    assert Chatbot.objects.filter(pk=tenant.chatbot.pk).exists()


def test_the_page_lists_what_will_be_deleted_and_counts_up_to_a_limit(tenant: Tenant) -> None:
    thread = row_of(tenant, Thread)
    client = client_of(tenant, "owner")

    def listed(row: Any) -> list[str]:
        return re.findall(r"<li>([^<]+)</li>", client.get(at(row)).content.decode())

    assert {"1 message", "1 lead"} <= set(listed(thread))
    assert {"1 conversation", "1 visitor", "1 instruction"} <= set(listed(tenant.chatbot))
    assert not [kind for kind in listed(tenant.chatbot) if "deliver" in kind]
    Message.objects.bulk_create(
        Message(thread=thread, position=position, message_type="USER_MESSAGE", content="x")
        for position in range(100, 1_200)
    )
    assert "more than 1,000 messages" in listed(thread)
