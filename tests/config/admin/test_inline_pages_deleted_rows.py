"""A form can be saved after a colleague deletes one of its rows, and the page says so."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from chatbots.models import Chatbot, FollowUpPrompt
from chatbots.models.base import MOST
from tests.factories.accounts import MembershipFactory
from tests.factories.chatbots import ChatbotMemberFactory, FollowUpPromptFactory
from tests.factories.staff import signed_in, superuser
from tests.pages import fields_of

TOLD = "Deleted while you were editing"
PROMPT = "follow_up_prompts-0-"


@pytest.fixture
def client(db: None) -> Client:
    return signed_in(superuser())


@pytest.fixture
def prompt(chatbot: Chatbot) -> FollowUpPrompt:
    """The first of two prompts."""
    FollowUpPromptFactory(chatbot=chatbot, rank=2)
    row: FollowUpPrompt = FollowUpPromptFactory(chatbot=chatbot, rank=1)
    return row


def page_of(row: Any) -> str:
    label = row._meta.label_lower.replace(".", "_")
    return reverse(f"admin:{label}_change", args=[row.pk])


def form_of(client: Client, row: Any) -> dict[str, Any]:
    return fields_of(client.get(page_of(row)))


@pytest.mark.parametrize(
    "edit",
    [{}, {"DELETE": "on", "rank": "7"}, {"rank": "first"}, {"button_title": ""}, {"esclate": "on"}],
)
def test_a_deleted_row_is_left_out_and_the_person_is_told(
    client: Client, chatbot: Chatbot, prompt: FollowUpPrompt, edit: dict[str, str]
) -> None:
    form = form_of(client, chatbot)
    prompt.delete()
    mine = {"description": "mine", "follow_up_prompts-1-rank": "9"}
    mine |= {f"{PROMPT}{name}": value for name, value in edit.items()}
    answer = client.post(page_of(chatbot), form | mine, follow=True)
    assert answer.text.count(f"{TOLD}, and therefore not saved: 1 follow-up prompt.") == 1
    chatbot.refresh_from_db()
    assert chatbot.description == "mine"
    assert FollowUpPrompt.objects.get().rank == 9


def test_a_deleted_row_is_no_longer_shown_after_a_failed_save(
    client: Client, chatbot: Chatbot, prompt: FollowUpPrompt
) -> None:
    form = form_of(client, chatbot)
    prompt.delete()
    answer = client.post(page_of(chatbot), form | {"name": ""})
    assert TOLD not in answer.text
    again = fields_of(answer)
    assert f"{PROMPT}rank" not in again
    assert client.post(page_of(chatbot), again | {"name": "Shop"}).status_code == 302
    assert FollowUpPrompt.objects.count() == 1


def test_members_of_accounts_and_chatbots_are_left_out_too(
    client: Client, chatbot: Chatbot
) -> None:
    for parent in (chatbot.account, chatbot):
        membership = MembershipFactory(account=chatbot.account, permissions=["CHATBOT_VIEW"])
        row = membership
        if parent is chatbot:
            row = ChatbotMemberFactory(chatbot=chatbot, user=membership.user)
        form = form_of(client, parent)
        row.delete()
        edit = {"memberships-0-role": "SUPER_ADMIN"}
        assert TOLD in client.post(page_of(parent), form | edit, follow=True).text
        assert not type(row).objects.filter(pk=row.pk).exists()


def test_a_row_deleted_by_a_colleague_makes_no_room_in_a_full_list(
    client: Client, chatbot: Chatbot, prompt: FollowUpPrompt
) -> None:
    form = form_of(client, chatbot)
    prompt.delete()
    FollowUpPrompt.objects.bulk_create(
        FollowUpPrompt(chatbot=chatbot, link_text="a", link_src="b") for _ in range(MOST - 1)
    )
    mine = {f"{PROMPT}DELETE": "on", "follow_up_prompts-TOTAL_FORMS": "3"}
    added = {"button_title": "More", "button_message": "More?", "rank": "1"}
    mine |= {f"follow_up_prompts-2-{name}": value for name, value in added.items()}
    answer = client.post(page_of(chatbot), form | mine)
    assert "a chatbot has at most" in answer.text
    assert FollowUpPrompt.objects.count() == MOST


@pytest.mark.parametrize("key", ["", "none", "00000000-0000-0000-0000-000000000000"])
def test_a_row_with_an_unknown_id_changes_nothing(
    client: Client, chatbot: Chatbot, prompt: FollowUpPrompt, key: str
) -> None:
    form = form_of(client, chatbot) | {f"{PROMPT}id": key, f"{PROMPT}rank": "7"}
    assert TOLD in client.post(page_of(chatbot), form, follow=True).text
    prompt.refresh_from_db()
    assert prompt.rank == 1
