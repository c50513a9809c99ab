"""Decide from people's roles whether they may use the admin, and which pages they can open.

Superusers can open every page. Django's groups and user permissions have no effect. Which rows a
page shows is decided in admin/scope.py.
"""

from typing import Any

from django.contrib.auth.backends import ModelBackend
from django.db.models import Exists, OuterRef

from accounts.models import Account, Membership, User
from accounts.models.user import MANAGING

VIEW, CHANGE, ALL = ("view",), ("view", "change"), ("view", "add", "change", "delete")
MEMBERS = {
    "accounts.apikey": ("view", "add", "change"),
    "chatbots.chatbot": CHANGE,
    "chatbots.appearance": CHANGE,
    "chatbots.generalsettings": CHANGE,
    "chatbots.leadsettings": ("view", "add", "change"),
    "chatbots.localization": ALL,
    "chatbots.instruction": ALL,
    "chatbots.persona": ALL,
    "chatbots.followupprompt": ALL,
    "chatbots.conversationstarter": ALL,
    "webhooks.endpoint": ("view", "add", "change"),
    "webhooks.delivery": CHANGE,
    "webhooks.retryjob": VIEW,
    "conversations.visitor": VIEW,
    "conversations.thread": CHANGE,
    "conversations.cannedreply": ALL,
    "conversations.lead": VIEW,
}
MANAGERS = MEMBERS | {
    "accounts.account": CHANGE,
    "accounts.membership": ALL,
    "accounts.invitation": ("view", "add"),
    "accounts.user": VIEW,
    "accounts.usage": VIEW,
    "accounts.change": VIEW,
    "accounts.mail": VIEW,
    "chatbots.chatbot": ALL,
    "chatbots.chatbotmember": ALL,
    "conversations.visitor": ("view", "delete"),
    "conversations.thread": ("view", "change", "delete"),
    "conversations.lead": ("view", "delete"),
}


def permissions_for(pages: dict[str, tuple[str, ...]]) -> frozenset[str]:
    """Return the names of Django's model permissions that a table of pages grants."""
    return frozenset(
        label.replace(".", f".{action}_") for label, actions in pages.items() for action in actions
    )


MEMBERS_MAY, MANAGERS_MAY = permissions_for(MEMBERS), permissions_for(MANAGERS)


class RoleBackend(ModelBackend):
    """Checks passwords like Django's backend, but takes permissions from roles in accounts."""

    def get_user(self, user_id: Any) -> User | None:
        """Read the signed-in person, together with what `User.is_staff` and `manages` need."""
        owned = Exists(Account.objects.filter(owner=OuterRef("pk")))
        memberships = Membership.objects.filter(user=OuterRef("pk"))
        rights: dict[str, Any] = {
            "belongs": owned | Exists(memberships),
            "manages": owned | Exists(memberships.filter(role__in=MANAGING)),
        }
        user = User.objects.annotate(**rights).filter(pk=user_id).first()
        return user if user and self.user_can_authenticate(user) else None

    def get_all_permissions(self, user_obj: Any, obj: Any = None) -> set[str]:
        """Return the permissions that a person has as a manager or a member of any account.

        Django does not ask for those of superusers, who have all permissions.
        """
        if not user_obj.is_active or not user_obj.belongs or obj is not None:
            return set()
        return set(MANAGERS_MAY if user_obj.manages else MEMBERS_MAY)
