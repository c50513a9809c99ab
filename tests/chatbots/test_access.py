"""Access to chatbots: the same rule decides who may open, list and use a chatbot."""

from itertools import product
from typing import Any

import pytest
from django.test import RequestFactory

from accounts.caller import Caller
from accounts.models import Account, User
from accounts.permissions import ADDED, CHATBOT_VIEW, Action, Role, may
from accounts.services import api_key
from chatbots.access import ChatbotForbidden, OpenChatbot, open_to
from chatbots.models import Chatbot
from chatbots.viewsets.base import CallerViewSet
from config.runtime.context import Context, acting
from tests.factories.accounts import AccountFactory, MembershipFactory, UserFactory
from tests.factories.chatbots import ChatbotFactory, ChatbotMemberFactory

pytestmark = [pytest.mark.django_db, pytest.mark.proves("Authentication", "Chatbots")]

HELD = list(
    product((False, True), (None, Role.MEMBER, Role.SUPER_ADMIN), ([], [CHATBOT_VIEW]), (0, 1))
)


def holder(chatbot: Chatbot, *, owner: bool, role: Any, permissions: Any, added: int) -> User:
    """Return a user who has exactly these rights to a chatbot."""
    account = chatbot.account
    user: User = account.owner if owner else UserFactory()
    if role:
        MembershipFactory(account=account, user=user, role=role, permissions=permissions)
    if added:
        ChatbotMemberFactory(chatbot=chatbot, user=user)
    return user


def opened(user: User, chatbot: Chatbot) -> OpenChatbot:
    """Open a chatbot as the user, with a new API key."""
    key, viewset = {"Authorization": f"Bearer {api_key.issue(user)[1]}"}, CallerViewSet()
    with acting(Context()):
        request = RequestFactory().get("/", headers=key)
        viewset.authenticate(request, chatbot_id=str(chatbot.pk))
        return viewset.open_chatbot()


@pytest.mark.parametrize(("owner", "role", "permissions", "added"), HELD)
def test_every_query_agrees_with_the_permission_table(
    owner: bool, role: Any, permissions: list[str], added: int
) -> None:
    chatbot = ChatbotFactory()
    user = holder(chatbot, owner=owner, role=role, permissions=permissions, added=added)
    ChatbotMemberFactory(user=user)  # added to another chatbot, but not a member of its account
    held = {*([Role.OWNER] if owner else []), *([role, *permissions] if role else [])}
    caller = Caller(user.pk)
    allowed = may(Action.USE_CHATBOT, held | ({ADDED} if added and role else set()))

    assert list(open_to(caller)) == ([chatbot] if allowed else [])
    assert (user in Chatbot.objects.filter(pk=chatbot.pk).users()) is allowed
    if allowed:
        assert opened(user, chatbot).pk == chatbot.pk
    else:
        with pytest.raises(ChatbotForbidden):
            opened(user, chatbot)


@pytest.mark.parametrize("action", [Action.ENTER_ACCOUNT, Action.MANAGE_ACCOUNT])
@pytest.mark.parametrize("role", Role)
def test_the_accounts_of_a_person_agree_with_the_permission_table(
    action: Action, role: Role
) -> None:
    account = AccountFactory()
    user = account.owner
    if role != Role.OWNER:
        user = MembershipFactory(account=account, role=role).user
    opened = list(Account.objects.open_to(user.pk, action))
    assert opened == ([account] if may(action, {role}) else [])
