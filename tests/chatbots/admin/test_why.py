"""The page "Check someone's access" takes its answers from the permission table."""

import pytest
from django.test import Client
from django.urls import reverse

from accounts.permissions import Action
from chatbots.models import Chatbot
from tests.factories.accounts import MembershipFactory
from tests.factories.chatbots import ChatbotMemberFactory
from tests.factories.staff import signed_in

ADDRESS = reverse("admin:chatbots_chatbot_why")


@pytest.fixture
def client(chatbot: Chatbot) -> Client:
    return signed_in(chatbot.account.owner)


def asked(client: Client, chatbot: Chatbot, email: str, action: Action) -> str:
    given = {"email": email, "chatbot": str(chatbot.pk), "action": action.value}
    return client.get(ADDRESS, given).text


@pytest.mark.parametrize(
    ("role", "added", "action", "allowed", "need"),
    [
        ("MEMBER", False, Action.USE_CHATBOT, False, "being added to the chatbot or the role"),
        ("MEMBER", True, Action.USE_CHATBOT, True, "being added to the chatbot or the role"),
        ("SUPER_ADMIN", False, Action.USE_CHATBOT, True, "the role OWNER or the role SUPER_ADMIN"),
        ("MEMBER", True, Action.ERASE, False, "requires the role OWNER or the role SUPER_ADMIN"),
        ("MEMBER", False, Action.ENTER_ACCOUNT, True, "the role MEMBER or the role OWNER"),
        ("MEMBER", False, Action.LIST_ACCOUNT_CHATBOTS, False, "the permission CHATBOT_VIEW or"),
    ],
)
def test_the_answer_is_that_of_the_permission_table(
    client: Client,
    chatbot: Chatbot,
    *,
    role: str,
    added: bool,
    action: Action,
    allowed: bool,
    need: str,
) -> None:
    user = MembershipFactory(account=chatbot.account, role=role).user
    if added:
        ChatbotMemberFactory(chatbot=chatbot, user=user)
    text = asked(client, chatbot, user.email, action)
    assert f"{user.email} may " in text
    assert (f"{user.email} may not " in text) is not allowed
    assert need in text
    assert f"In {chatbot.account}, {user.email} holds {role}." in text
    assert f"was {'' if added else 'not '}added to {chatbot}." in text


def test_the_page_is_for_managers(chatbot: Chatbot) -> None:
    member = MembershipFactory(account=chatbot.account).user
    ChatbotMemberFactory(chatbot=chatbot, user=member)
    assert signed_in(member).get(ADDRESS).status_code == 403
