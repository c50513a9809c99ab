"""Factories for valid users, plans, accounts and memberships. They need no arguments."""

from factory import Sequence, SubFactory

from accounts.models import Account, Membership, Plan, User
from tests.factories.row import RowFactory


class UserFactory(RowFactory):
    class Meta:
        model = User

    email = Sequence("person{}@example.com".format)
    name = Sequence("Person {}".format)


class PlanFactory(RowFactory):
    class Meta:
        model = Plan
        django_get_or_create = ["name"]

    name = "Scale"
    messages_per_minute = 12_000
    ai_replies_per_minute = 3_000
    webhooks_by_default = True


class AccountFactory(RowFactory):
    class Meta:
        model = Account

    name = Sequence("Account {}".format)
    owner = SubFactory(UserFactory)
    plan = SubFactory(PlanFactory)


class MembershipFactory(RowFactory):
    class Meta:
        model = Membership

    account = SubFactory(AccountFactory)
    user = SubFactory(UserFactory)
