"""Saving a page of a list changes the rows it showed, even if they have moved to other pages."""

from datetime import date
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import Invitation, Membership, Usage
from accounts.services.invitation import accept
from chatbots.models import Chatbot, FollowUpPrompt
from config.admin.inline_pages import PagedInline
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


def test_an_invitation_moved_to_an_earlier_page_is_withdrawn(client: Client) -> None:
    account = AccountFactory()
    rows = [
        Invitation.objects.create(account=account, email=f"{number}@example.com", role="MEMBER")
        for number in range(12)
    ]
    form = second_page(client, account, "invitations")
    assert form["invitations-0-id"] == str(rows[10].pk)
    assert accept(rows[0])
    answer = client.post(page_of(account), form | {"invitations-0-DELETE": "on"})
    assert answer.status_code == 302
    assert set(Invitation.objects.all()) == {*rows[1:10], rows[11]}


def test_a_row_moved_to_a_later_page_is_changed(client: Client, chatbot: Chatbot) -> None:
    rows = [FollowUpPromptFactory(chatbot=chatbot, rank=number) for number in range(1, 11)]
    form = fields_of(client.get(page_of(chatbot)))
    FollowUpPromptFactory(chatbot=chatbot, rank=0)
    mine = {"follow_up_prompts-9-button_title": "mine"}
    assert client.post(page_of(chatbot), form | mine).status_code == 302
    rows[9].refresh_from_db()
    assert rows[9].button_title == "mine"


def test_a_moved_row_with_an_error_is_shown_again(client: Client, chatbot: Chatbot) -> None:
    rows = [FollowUpPromptFactory(chatbot=chatbot, rank=number) for number in range(12)]
    form = second_page(client, chatbot, "follow_up_prompts")
    rows[0].delete()
    answer = client.post(page_of(chatbot), form | {"follow_up_prompts-0-rank": "first"})
    assert "Enter a whole number" in answer.text
    again = fields_of(answer)
    assert again["follow_up_prompts-0-id"] == str(rows[10].pk)
    again |= {"follow_up_prompts-0-rank": "50"}
    assert client.post(page_of(chatbot), again).status_code == 302
    assert FollowUpPrompt.objects.get(rank=50) == rows[10]


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


def test_a_form_reaches_no_more_rows_than_a_page_shows(client: Client, chatbot: Chatbot) -> None:
    rows = [FollowUpPromptFactory(chatbot=chatbot, rank=number) for number in range(12)]
    form = fields_of(client.get(page_of(chatbot)))
    form |= {f"follow_up_prompts-{name}_FORMS": len(rows) for name in ("TOTAL", "INITIAL")}
    for number, row in enumerate(rows):
        form[f"follow_up_prompts-{number}-id"] = str(row.pk)
        form[f"follow_up_prompts-{number}-DELETE"] = "on"
    client.post(page_of(chatbot), form)
    assert FollowUpPrompt.objects.count() == len(rows) - PagedInline.per_page


@pytest.mark.parametrize("key", ["9" * 30, "9" * 5_000, "-1", "1.5", "\x00", "\uff19"])
def test_an_id_of_any_form_is_accepted(client: Client, key: str) -> None:
    account = AccountFactory()
    usage = Usage.objects.create(account=account, month=date(2025, 11, 1), messages=3)
    form = fields_of(client.get(page_of(account)))
    assert form["usages-0-id"] == str(usage.pk)
    answer = client.post(page_of(account), form | {"usages-0-id": key, "name": ""})
    assert answer.status_code == 200
    assert client.post(page_of(account), form | {"usages-0-id": key}).status_code == 302
