"""Memberships, which give people other than the owner a role in an account."""

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import models

from accounts.models.account import Account
from accounts.permissions import MEMBER_ROLES, PERMISSIONS, Role
from config.database.row import Row


def known_permissions(given: object) -> None:
    """Check that a value is a list of existing permissions. Raises ValidationError."""
    if not isinstance(given, list) or not set(given) <= set(PERMISSIONS):
        raise ValidationError(f"permissions must be a list of: {', '.join(PERMISSIONS)}")


class Standing(Row):
    """The role and permissions that a member or an invited person has in an account."""

    ROLES = [(role.value, role.value) for role in MEMBER_ROLES]

    role = models.CharField(max_length=20, choices=ROLES, default=Role.MEMBER.value)
    permissions = models.JSONField(default=list, blank=True, validators=[known_permissions])

    class Meta:
        abstract = True


class Membership(Standing):
    """A person's role and permissions in an account that they do not own."""

    account = models.ForeignKey(Account, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships"
    )

    class Meta:
        ordering = ["account", "user"]
        constraints = [
            models.UniqueConstraint(fields=["account", "user"], name="one_membership_per_person"),
            models.CheckConstraint(
                condition=models.Q(role__in=[role.value for role in MEMBER_ROLES]),
                name="membership_role_known",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user.email} in {self.account}"
