"""Valid users, plans and accounts, with defaults for everything."""

from factory import Sequence, SubFactory
from factory.django import DjangoModelFactory

from accounts.models import Account, Membership, Plan, User


class UserFactory(DjangoModelFactory):
    class Meta:
        model = User

    email = Sequence("person{}@example.com".format)
    name = Sequence("Person {}".format)


class PlanFactory(DjangoModelFactory):
    class Meta:
        model = Plan
        django_get_or_create = ["name"]

    name = "Scale"
    messages_per_minute = 12_000
    ai_replies_per_minute = 3_000
    webhooks_by_default = True


class AccountFactory(DjangoModelFactory):
    class Meta:
        model = Account

    name = Sequence("Account {}".format)
    owner = SubFactory(UserFactory)
    plan = SubFactory(PlanFactory)


class MembershipFactory(DjangoModelFactory):
    class Meta:
        model = Membership

    account = SubFactory(AccountFactory)
    user = SubFactory(UserFactory)
