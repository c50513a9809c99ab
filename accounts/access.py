"""Check what a caller may do in an account. Open points: roles, permissions, foreign-chatbot."""

from dataclasses import dataclass
from typing import Any, TypeVar

from django.db.models import Case, OuterRef, QuerySet, Subquery, Value, When

from accounts.models import Account, Membership, User
from accounts.permissions import Action, Role, may
from config.api.errors import Forbidden, NotFound
from config.api.viewsets import identifier
from config.runtime import logs

RowsT = TypeVar("RowsT", bound="QuerySet[Any]")  # Any: rows of any model


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
    """Combine a caller's ownership, role and permissions in an account into one set."""
    held = {*(permissions or []), *([role] if role else [])}
    return frozenset(held | ({Role.OWNER} if owner else set()))


def open_account(caller: User, account_id: str, action: Action) -> Opened:
    """Find an account and check that the caller may perform the action in it.

    Raises AccountNotFound, or Forbidden if the caller may not.
    """
    try:
        key = identifier(account_id)
    except NotFound:
        raise AccountNotFound from None
    account = Account.objects.select_related("plan").filter(pk=key).first()
    if account is None:
        raise AccountNotFound
    logs.note(account=str(account.pk))
    owner = account.owner_id == caller.pk
    member = None if owner else Membership.objects.filter(account=account, user=caller).first()
    holds = holdings(
        owner=owner,
        role=member.role if member else None,
        permissions=member.permissions if member else None,
    )
    if not (caller.reaches(account.pk) and may(action, holds)):
        raise Forbidden
    return Opened(account, Role.OWNER if owner else str(member.role if member else ""))


def reached(rows: RowsT, caller: User, *, account: str = "account") -> RowsT:
    """Keep the rows of accounts that the caller's key gives access to."""
    return rows.filter(**{account: caller.key_account}) if caller.key_account else rows


def accounts_of(caller: User) -> "QuerySet[Any]":  # Any: an account with its caller_role
    """List the accounts that a caller owns or belongs to, with the role as `caller_role`."""
    membership = Membership.objects.filter(account=OuterRef("pk"), user=caller)
    accounts = Account.objects.open_to(caller.pk, Action.ENTER_ACCOUNT)
    return reached(accounts, caller, account="pk").annotate(
        caller_role=Case(
            When(owner=caller, then=Value(Role.OWNER.value)),
            default=Subquery(membership.values("role")[:1]),
        )
    )
