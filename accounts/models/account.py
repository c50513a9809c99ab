"""Accounts: the tenants that own chatbots."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import F

from accounts.models.plan import Plan
from accounts.permissions import MEMBER_ROLES, Action, Role, may
from accounts.working_hours import EXAMPLE, validate_hours, validate_zone
from config.database.lengths import SHORT
from config.database.row import Row

Rows = models.QuerySet[Any, Any]  # rows of any model


def by_role(rows: Rows, action: Action, *, account: str = "") -> list[Rows]:
    """Pair each row with the people whose role in its account allows an action.

    Returns one queryset for members and, if the action is open to owners, one for owners. Each row
    is annotated with `person`, the id of the user. `account` is the path from a row to its account,
    such as "account__". Open point: permissions.
    """
    roles = [role for role in MEMBER_ROLES if may(action, {role})]
    members = rows.filter(**{f"{account}memberships__role__in": roles})
    pairs = [members.annotate(person=F(f"{account}memberships__user"))]
    if may(action, {Role.OWNER}):
        pairs.append(rows.annotate(person=F(f"{account}owner")))
    return pairs


def union(parts: Iterable[Rows], column: str) -> Rows:
    """Combine one column of several querysets with UNION ALL, for use with IN or EXISTS.

    The database finds the rows of each queryset through an index. If the conditions were joined by
    OR in a single query, the database would read the rows of all tenants. Duplicates are kept,
    because removing them would cost more than it saves.
    """
    first, *others = (rows.order_by().values(column) for rows in parts)
    return first.union(*others, all=True)


class AccountQuerySet(models.QuerySet["Account"]):
    """A queryset of accounts, with a method that selects those in which a person may act."""

    def open_to(self, person: UUID, action: Action) -> "AccountQuerySet":
        """Select the accounts in which a person's role allows an action."""
        pairs = by_role(Account.objects.all(), action)
        return self.filter(pk__in=union((rows.filter(person=person) for rows in pairs), "pk"))


class Account(Row):
    """A tenant, with its owner and plan."""

    name = models.CharField(max_length=SHORT)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="owned_accounts"
    )
    plan = models.ForeignKey(Plan, on_delete=models.PROTECT, related_name="accounts")
    webhooks_enabled = models.BooleanField(
        "webhooks add-on",
        default=None,
        help_text="Without the add-on, webhooks cannot be set up or sent",
    )
    mail_on_escalation = models.BooleanField(
        "email on escalation",
        default=True,
        help_text="When a visitor asks for a person, email the owner and everyone else who may "
        "use the chatbot",
    )
    remind_after_minutes = models.PositiveSmallIntegerField(
        "remind after (minutes)",
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text="Email the staff again when a visitor has waited this long. "
        "Leave empty for no reminder.",
    )
    return_after_minutes = models.PositiveSmallIntegerField(
        "return to the AI after (minutes)",
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text="An answered conversation returns to the AI after this many minutes without "
        "activity. Leave empty to turn this off.",
    )
    working_hours = models.CharField(
        max_length=SHORT,
        blank=True,
        validators=[validate_hours],
        help_text=f"The hours when reminders are sent, such as {EXAMPLE} (overnight). "
        "Leave empty to send them at any time.",
    )
    time_zone = models.CharField(
        max_length=64,
        default="UTC",
        validators=[validate_zone],
        help_text="The time zone of the working hours, such as Europe/Berlin",
    )

    objects = AccountQuerySet.as_manager()

    class Meta:
        ordering = ["name", "id"]

    def __str__(self) -> str:
        return self.name

    def save(self, *args: Any, **options: Any) -> None:
        """Give a new account the webhooks add-on if its plan has it. Open point: plan-webhooks."""
        if self.webhooks_enabled is None:
            self.webhooks_enabled = self.plan.webhooks_by_default
        super().save(*args, **options)
