"""People: users who sign in with their email, hold API keys and belong to accounts."""

from collections.abc import Iterable
from typing import Any, ClassVar

from django.contrib.auth.models import AbstractBaseUser, BaseUserManager, PermissionsMixin
from django.db import models
from django.db.models import Q, Value
from django.db.models.functions import Lower
from django.utils.functional import cached_property

from accounts.permissions import MAY, MEMBER_ROLES, Action
from config.database.ids import new_id
from config.database.lengths import SHORT

# the roles, besides that of an owner, that allow a person to manage an account
MANAGING = [role for role in MEMBER_ROLES if role in MAY[Action.MANAGE_ACCOUNT]]


class UserManager(BaseUserManager["User"]):
    """Creates users and finds them by email, ignoring letter case."""

    def create_user(self, email: str, password: str | None = None, **fields: Any) -> "User":
        """Create a user. Without a password, the user cannot sign in."""
        user = self.model(email=email.strip(), **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(self, email: str, password: str | None = None, **fields: Any) -> "User":
        """Create a user with all permissions, for `manage.py createsuperuser`."""
        return self.create_user(email, password, is_superuser=True, **fields)

    def get_by_natural_key(self, username: str | None) -> "User":
        """Return the user with this email, for signing in. Raises DoesNotExist."""
        return self.get(email__lower=Lower(Value(username or "")))

    def find(self, email: str) -> "User | None":
        """Find a user by email. Like the unique index, this ignores letter case."""
        return self.filter(email__lower=Lower(Value(email.strip()))).first()

    def belonging_to(self, accounts: Iterable[Any]) -> "models.QuerySet[User]":
        """Return the owners and members of accounts. May return a person more than once."""
        return self.filter(Q(memberships__account__in=accounts) | Q(owned_accounts__in=accounts))


class User(AbstractBaseUser, PermissionsMixin):
    """A person, who may own accounts, be a member of others, and hold API keys."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    email = models.EmailField(max_length=SHORT, unique=True)
    name = models.CharField(max_length=SHORT, blank=True)
    is_active = models.BooleanField("active", default=True)
    # False if an invitation's copied link created the user: the address may be somebody else's
    email_confirmed = models.BooleanField(default=True, db_default=True, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)

    USERNAME_FIELD = "email"
    EMAIL_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []
    objects: ClassVar[UserManager] = UserManager()

    class Meta:
        verbose_name = "person"
        verbose_name_plural = "people"
        constraints = [
            models.UniqueConstraint(
                Lower("email"),
                name="user_email_unique",
                violation_error_message="a person with this email address already exists",
            )
        ]

    def __str__(self) -> str:
        return self.email  # not the name, which some managers are not allowed to see

    @cached_property
    def belongs(self) -> bool:
        """Whether the person owns an account or is a member of one."""
        return self.owned_accounts.exists() or self.memberships.exists()

    @cached_property
    def manages(self) -> bool:
        """Whether the person manages an account, as its owner or through their role."""
        managed = self.memberships.filter(role__in=MANAGING)
        return self.owned_accounts.exists() or managed.exists()

    @property
    def is_staff(self) -> bool:
        """Whether the person may use the admin. Django's admin reads this attribute."""
        return bool(self.is_superuser or self.belongs)

    def get_full_name(self) -> str:
        """Return the name shown to colleagues and visitors, or the email if there is no name."""
        return self.name or self.email


User._meta.get_field("email").register_lookup(Lower)
