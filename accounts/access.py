"""Check what a caller may do in an account. Open points: roles, permissions, foreign-chatbot."""

from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import UUID

from django.db.models import (
    Case,
    FilteredRelation,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    UUIDField,
    Value,
    When,
)

from accounts.caller import Caller
from accounts.models import Account, Membership
from accounts.permissions import Action, Role, may
from config.api.errors import Forbidden, NotFound
from config.api.viewsets import identifier
from config.database.prepared import Given, prepared
from config.runtime import logs

RowsT = TypeVar("RowsT", bound="QuerySet[Any]")  # Any: rows of any model


# An account's owner, and the role and permissions of a person in it.
STANDING = prepared(
    lambda: (
        Account.objects.filter(pk=Given("account", UUIDField()))
        .annotate(
            standing=FilteredRelation(
                "memberships", condition=Q(memberships__user=Given("person", UUIDField()))
            )
        )
        .values_list("owner", "standing__role", "standing__permissions")
    )
)


class AccountNotFound(NotFound):
    """The account does not exist."""

    message = "account not found"


@dataclass(frozen=True)
class Opened:
    """An account that the caller may act on, and the caller's role in it."""

    account_id: UUID
    role: str


def holdings(
    *, owner: bool, role: str | None = None, permissions: list[str] | None = None
) -> frozenset[str]:
    """Combine a caller's ownership, role and permissions in an account into one set."""
    held = {*(permissions or []), *([role] if role else [])}
    return frozenset(held | ({Role.OWNER} if owner else set()))


def open_account(caller: Caller, account_id: str, action: Action) -> Opened:
    """Find an account and check that the caller may perform the action in it.

    Raises AccountNotFound, or Forbidden if the caller may not.
    """
    try:
        key = identifier(account_id)
    except NotFound:
        raise AccountNotFound from None
    found = STANDING.first(account=key, person=caller.pk)
    if found is None:
        raise AccountNotFound
    logs.note(account=str(key))
    owner_id, role, permissions = found
    owner = owner_id == caller.pk
    holds = holdings(
        owner=owner,
        role=None if owner else role,
        permissions=None if owner else permissions,
    )
    if not (caller.reaches(key) and may(action, holds)):
        raise Forbidden
    return Opened(key, Role.OWNER if owner else str(role or ""))


def find_account(account_id: UUID) -> Account:
    """Read an account that the caller has opened, with its plan."""
    return Account.objects.select_related("plan").get(pk=account_id)


def read_accounts(caller: Caller) -> list[tuple[UUID, str, str]]:
    """Read the id, name and role of each account that a caller owns or belongs to."""
    bound = caller.key_account is not None
    return MINE.rows(bound, person=caller.pk, key_account=caller.key_account)


def reached(rows: RowsT, caller: Caller, *, account: str = "account") -> RowsT:
    """Keep the rows of accounts that the caller's key gives access to."""
    return rows.filter(**{account: caller.key_account}) if caller.key_account else rows


def accounts_of(caller: Caller) -> "QuerySet[Any]":  # Any: an account with its caller_role
    """List the accounts that a caller owns or belongs to, with the role as `caller_role`."""
    membership = Membership.objects.filter(account=OuterRef("pk"), user=caller.pk)
    accounts = Account.objects.open_to(caller.pk, Action.ENTER_ACCOUNT)
    return reached(accounts, caller, account="pk").annotate(
        caller_role=Case(
            When(owner=caller.pk, then=Value(Role.OWNER.value)),
            default=Subquery(membership.values("role")[:1]),
        )
    )


def accounts_of_given(bound: bool) -> "QuerySet[Any]":
    """List the accounts of a given person, or the given one that the person's key is bound to."""
    person: Any = Given("person", UUIDField())
    key_account: Any = Given("key_account", UUIDField()) if bound else None
    return accounts_of(Caller(person, key_account))


MINE = prepared(lambda bound: accounts_of_given(bound).values_list("id", "name", "caller_role"))
