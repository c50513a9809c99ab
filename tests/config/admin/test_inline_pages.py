"""Saving a page of a list changes the rows it showed, even if they have moved to other pages."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import Membership
from chatbots.models import Chatbot, FollowUpPrompt
from tests.factories.accounts import AccountFactory, MembershipFactory
from tests.factories.chatbots import FollowUpPromptFactory
from tests.factories.staff import signed_in, superuser
from tests.pages import fields_of


@pytest.fixture
def client(db: None) -> Client:
    return signed_in(superuser())


def page_of(row: Any) -> str:
    label = row._meta.label_lower.replace(".", "_")
    return reverse(f"admin:{label}_change", args=[row.pk])


def second_page(client: Client, row: Any, prefix: str) -> dict[str, Any]:
    """Open a row's page at the second page of one of its lists. Returns the form's fields."""
    return fields_of(client.get(f"{page_of(row)}?{prefix}-page=2"))


def test_a_member_moved_to_an_earlier_page_is_removed(client: Client) -> None:
    account = AccountFactory()
    rows = [MembershipFactory(account=account) for _ in range(12)]
    form = second_page(client, account, "memberships")
    assert form["memberships-0-id"] == str(rows[10].pk)
    rows[0].delete()
    answer = client.post(page_of(account), form | {"memberships-0-DELETE": "on"})
    assert answer.status_code == 302
    assert set(Membership.objects.all()) == {*rows[1:10], rows[11]}


@pytest.mark.parametrize("changes", [{"DELETE": "on"}, {"rank": "99"}])
def test_a_row_of_another_chatbot_is_never_reached(
    client: Client, chatbot: Chatbot, changes: dict[str, str]
) -> None:
    FollowUpPromptFactory(chatbot=chatbot, rank=1)
    other = FollowUpPromptFactory(rank=1)
    form = fields_of(client.get(page_of(chatbot)))
    form |= {"follow_up_prompts-0-id": str(other.pk)}
    form |= {f"follow_up_prompts-0-{name}": value for name, value in changes.items()}
    client.post(page_of(chatbot), form)
    assert sorted(FollowUpPrompt.objects.values_list("rank", flat=True)) == [1, 1]
