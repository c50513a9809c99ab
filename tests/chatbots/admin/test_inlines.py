"""The tabs on a chatbot's page."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import User
from accounts.permissions import Role
from chatbots.models import Chatbot, ChatbotMember
from tests.factories.accounts import MembershipFactory
from tests.factories.chatbots import ChatbotMemberFactory
from tests.factories.staff import ACCOUNT_ADMINS, signed_in, staff
from tests.pages import fields_of

PEOPLE = re.compile(r'name="memberships-__prefix__-user".*?</select>', re.DOTALL)


def offered(client: Client, chatbot: Chatbot) -> set[str]:
    """Return the email addresses of the people that the page offers as members."""
    page = client.get(reverse("admin:chatbots_chatbot_change", args=[chatbot.pk])).text
    found = PEOPLE.search(page)
    assert found
    return set(User.objects.values_list("email", flat=True)) & set(
        re.findall(r">\s*([^<\s]+@[^<\s]+)\s*<", found[0])
    )


def test_only_people_who_can_be_added_are_offered_as_members(
    client: Client, chatbot: Chatbot
) -> None:
    account = chatbot.account
    free = MembershipFactory(account=account).user
    MembershipFactory(account=account, role=Role.SUPER_ADMIN)
    added = MembershipFactory(account=account).user
    ChatbotMemberFactory(chatbot=chatbot, user=added)
    assert offered(client, chatbot) == {free.email}


@pytest.mark.parametrize(("role", "allowed"), [("SUPER_ADMIN", True), ("MEMBER", False)])
def test_only_managers_see_and_remove_the_members_of_a_chatbot(
    chatbot: Chatbot, *, role: str, allowed: bool
) -> None:
    """Being in the staff group is not enough: people whose role is lowered stay in the group."""
    colleague = ChatbotMemberFactory(
        chatbot=chatbot, user=MembershipFactory(account=chatbot.account).user
    )
    person = staff(MembershipFactory(account=chatbot.account, role=role).user, ACCOUNT_ADMINS)
    if role == "MEMBER":
        ChatbotMemberFactory(chatbot=chatbot, user=person)
    client = signed_in(person)
    address = reverse("admin:chatbots_chatbot_change", args=[chatbot.pk])
    page = client.get(address)
    assert (colleague.user.email in page.text) is allowed
    rows = ChatbotMember.objects.filter(chatbot=chatbot).order_by("pk")
    form = {"memberships-TOTAL_FORMS": len(rows), "memberships-INITIAL_FORMS": len(rows)}
    for number, row in enumerate(rows):
        form[f"memberships-{number}-id"] = str(row.pk)
        form[f"memberships-{number}-chatbot"] = str(chatbot.pk)
        form[f"memberships-{number}-DELETE"] = "on" if row == colleague else ""
    client.post(address, fields_of(page) | form)
    assert ChatbotMember.objects.filter(pk=colleague.pk).exists() is not allowed
