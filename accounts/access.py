"""Check what a caller may do in an account. Open points: roles, permissions, foreign-chatbot."""

from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import UUID

from django.db.models import (
    Case,
    F,
    FilteredRelation,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Value,
    When,
)

from accounts.caller import Caller
from accounts.models import Account, Membership
from accounts.permissions import Action, Role, may
from config.api.errors import Forbidden, NotFound
from config.api.fields import Identifier
from config.database.prepared import prepare
from config.runtime.context import current

RowsT = TypeVar("RowsT", bound="QuerySet[Any]")  # Any: rows of any model are accepted


class AccountNotFound(NotFound):
    """The account does not exist."""

    message = "account not found"


@dataclass(frozen=True)
class Opened:
    """An account that the caller may act on, and the caller's role in it."""

    account: Account
    role: str


def holdings(
    *, owner: bool, role: str | None = None, permissions: list[str] | None = None
) -> frozenset[str]:
    """Return a caller's role and permissions in an account as one set.

    The set includes OWNER if the caller owns the account.
    """
    held = {*(permissions or []), *([role] if role else [])}
    return frozenset(held | ({Role.OWNER} if owner else set()))


def open_account(caller: Caller, account_id: str, action: Action) -> Opened:
    """Find an account and check that the caller may perform the action in it.

    Raises AccountNotFound if there is no such account, and Forbidden if the action is not allowed.
    """
    if not Identifier.FORM.fullmatch(account_id):
        raise AccountNotFound
    key = UUID(account_id)
    account: Any = (  # Any: an annotated row
        Account.objects.select_related("plan")
        .annotate(
            standing=FilteredRelation("memberships", condition=Q(memberships__user=caller.pk))
        )
        .annotate(role=F("standing__role"), permissions=F("standing__permissions"))
        .filter(pk=key)
        .first()
    )
    if account is None:
        raise AccountNotFound
    current.set(current.get()._replace(account=str(key)))
    owner = account.owner_id == caller.pk
    holds = holdings(
        owner=owner,
        role=None if owner else account.role,
        permissions=None if owner else account.permissions,
    )
    if not (caller.reaches(key) and may(action, holds)):
        raise Forbidden
    return Opened(account, Role.OWNER if owner else str(account.role or ""))


def reached(rows: RowsT, caller: Caller, *, account: str = "account") -> RowsT:
    """Limit rows to the account that the caller's key is bound to, if any."""
    return rows.filter(**{account: caller.key_account}) if caller.key_account else rows


def accounts_of(caller: Caller) -> "QuerySet[Any]":  # Any: mypy does not know `caller_role`
    """Select the accounts that a caller owns or belongs to.

    If the caller's key is bound to an account, no other account is selected. Each account is
    annotated with the caller's role, as `caller_role`.
    """
    membership = Membership.objects.filter(account=OuterRef("pk"), user=caller.pk)
    accounts = Account.objects.open_to(caller.pk, Action.ENTER_ACCOUNT)
    return reached(accounts, caller, account="pk").annotate(
        caller_role=Case(
            When(owner=caller.pk, then=Value(Role.OWNER.value)),
            default=Subquery(membership.values("role")[:1]),
        )
    )


def named_accounts(*, person: UUID, key_account: UUID | None) -> "QuerySet[Any, tuple[Any, ...]]":
    """Select the id, the name and the caller's role for each account that `accounts_of` selects."""
    return accounts_of(Caller(person, key_account)).values_list("id", "name", "caller_role")


MY_ACCOUNTS = prepare(named_accounts)


def read_accounts(caller: Caller) -> list[tuple[Any, ...]]:
    """Read the id, the name and the caller's role for each of the caller's accounts."""
    return MY_ACCOUNTS.rows(person=caller.pk, key_account=caller.key_account)
