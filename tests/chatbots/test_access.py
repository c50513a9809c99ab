"""Access to chatbots: the same rule decides who may open, list and use a chatbot."""

from itertools import product
from typing import Any

import pytest
from django.db import connection
from django.db.models import QuerySet
from django.test import RequestFactory

from accounts.access import accounts_of
from accounts.caller import Caller
from accounts.models import Account, Membership, User
from accounts.permissions import ADDED, CHATBOT_VIEW, Action, Role, may
from accounts.services import api_key
from chatbots.access import ChatbotForbidden, OpenChatbot, open_to
from chatbots.models import Chatbot, ChatbotMember
from chatbots.viewsets.base import CallerViewSet
from config.runtime.context import Context, acting
from tests.factories import bulk
from tests.factories.accounts import AccountFactory, MembershipFactory, UserFactory
from tests.factories.chatbots import ChatbotFactory, ChatbotMemberFactory

pytestmark = [pytest.mark.django_db, pytest.mark.proves("Authentication", "Chatbots")]

TENANTS, CHATBOTS_EACH = 2_000, 10
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


@pytest.fixture
def tenants() -> list[User]:
    """Create many accounts with chatbots. Returns an owner, a super admin and a member."""
    users = User.objects.bulk_create(
        [User(email=f"person{number}@tenants.example") for number in range(3 * TENANTS)]
    )
    owners, admins, members = (users[start::3] for start in range(3))
    plan = AccountFactory().plan
    accounts = Account.objects.bulk_create(
        [Account(name="tenant", owner=owner, plan=plan, webhooks_enabled=True) for owner in owners]
    )
    Membership.objects.bulk_create(
        Membership(account=account, user=user, role=role)
        for people, role in ((admins, Role.SUPER_ADMIN), (members, Role.MEMBER))
        for account, user in zip(accounts, people, strict=True)
    )
    chatbots = Chatbot.objects.bulk_create(
        [Chatbot(account=account, name="chatbot") for account in accounts]
    )
    owned = "(SELECT account_id FROM chatbots_chatbot WHERE name = 'chatbot')"
    for number in range(1, CHATBOTS_EACH):
        columns = {"account_id": "s.account_id", "name": f"'chatbot {number}'"}
        bulk.copy(chatbots[0], len(chatbots), columns, source=owned)
    ChatbotMember.objects.bulk_create(
        ChatbotMember(chatbot=chatbot, user=user)
        for chatbot, user in zip(chatbots, members, strict=True)
    )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    return [owners[7], admins[8], members[9]]


def scanned(rows: "QuerySet[Any]") -> list[str]:
    """Return the steps of a query's plan that scan a table sequentially."""
    if connection.vendor == "sqlite":
        steps = [line.split(maxsplit=3)[-1] for line in rows.explain().splitlines()]
        return [step for step in steps if step.startswith("SCAN")]
    return [line for line in rows.explain().splitlines() if "Seq Scan" in line]


@pytest.mark.slow
def test_rows_of_other_tenants_are_not_read(tenants: list[User]) -> None:
    owner, admin, member = tenants
    assert scanned(Chatbot.objects.filter(description="none")), "the check detects a scan"
    for user, count in ((owner, CHATBOTS_EACH), (admin, CHATBOTS_EACH), (member, 1)):
        rows = open_to(Caller(user.pk))
        assert rows.count() == count
        assert scanned(rows[:20]) == []
        assert scanned(accounts_of(Caller(user.pk))) == []
        assert scanned(Account.objects.open_to(user.pk, Action.MANAGE_ACCOUNT)) == []
    people = Chatbot.objects.filter(pk=open_to(Caller(member.pk))[0].pk).users()
    assert (people.count(), scanned(people)) == (3, [])


def people() -> dict[str, tuple[User, set[Chatbot]]]:
    """Create a person for each kind of access. Returns the people and the chatbots they may use."""
    own, led, joined, closed, other = ChatbotFactory.create_batch(5)
    everything: User = UserFactory()
    Account.objects.filter(pk=own.account_id).update(owner=everything)
    for chatbot, role in ((led, Role.SUPER_ADMIN), (joined, Role.MEMBER), (closed, Role.MEMBER)):
        MembershipFactory(account=chatbot.account, user=everything, role=role)
    for chatbot in (own, led, joined, other):
        ChatbotMemberFactory(chatbot=chatbot, user=everything)
    ChatbotFactory(account=joined.account)
    admin = MembershipFactory(account=led.account, role=Role.SUPER_ADMIN).user
    member = MembershipFactory(account=joined.account).user
    ChatbotMemberFactory(chatbot=joined, user=member)
    return {
        "everything": (everything, {own, led, joined}),
        "owner": (led.account.owner, {led}),
        "super admin": (admin, {led}),
        "member": (member, {joined}),
        "stranger": (UserFactory(), set()),
    }
