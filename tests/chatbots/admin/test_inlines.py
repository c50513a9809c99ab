"""The tabs on a chatbot's page."""

import pytest
from django.urls import reverse

from chatbots.models import Chatbot, ChatbotMember
from tests.factories.accounts import MembershipFactory
from tests.factories.chatbots import ChatbotMemberFactory
from tests.factories.staff import signed_in
from tests.pages import fields_of


@pytest.mark.parametrize(("role", "allowed"), [("SUPER_ADMIN", True), ("MEMBER", False)])
def test_only_managers_see_and_remove_the_members_of_a_chatbot(
    chatbot: Chatbot, *, role: str, allowed: bool
) -> None:
    """Being in the staff group is not enough: people whose role is lowered stay in the group."""
    colleague = ChatbotMemberFactory(
        chatbot=chatbot, user=MembershipFactory(account=chatbot.account).user
    )
    person = MembershipFactory(account=chatbot.account, role=role).user
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
