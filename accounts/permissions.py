"""The permission table. Specification: Authentication, 5 and 6."""

from collections.abc import Set
from enum import StrEnum


class Role(StrEnum):
    """A person's role in an account. OWNER is stored on the account, not on a membership."""

    OWNER = "OWNER"
    SUPER_ADMIN = "SUPER_ADMIN"
    MEMBER = "MEMBER"


MEMBER_ROLES = tuple(role for role in Role if role is not Role.OWNER)  # stored on memberships


class Action(StrEnum):
    """The actions that need a role or permission."""

    ENTER_ACCOUNT = "ENTER_ACCOUNT"
    LIST_ACCOUNT_CHATBOTS = "LIST_ACCOUNT_CHATBOTS"
    CREATE_CHATBOT = "CREATE_CHATBOT"
    USE_CHATBOT = "USE_CHATBOT"
    MANAGE_ACCOUNT = "MANAGE_ACCOUNT"
    ERASE = "ERASE"


CHATBOT_VIEW = "CHATBOT_VIEW"  # a permission that a membership may include
ADDED = "ADDED"  # held by each person who was added to a chatbot, for that chatbot only
PERMISSIONS = (CHATBOT_VIEW,)

MAY: dict[Action, Set[str]] = {
    Action.ENTER_ACCOUNT: set(Role),  # access to each chatbot also requires USE_CHATBOT
    Action.LIST_ACCOUNT_CHATBOTS: {Role.OWNER, Role.SUPER_ADMIN, CHATBOT_VIEW},
    Action.CREATE_CHATBOT: {Role.OWNER, Role.SUPER_ADMIN},
    Action.USE_CHATBOT: {Role.OWNER, Role.SUPER_ADMIN, ADDED},
    Action.MANAGE_ACCOUNT: {Role.OWNER, Role.SUPER_ADMIN},  # the account's people, keys and secrets
    Action.ERASE: {Role.OWNER, Role.SUPER_ADMIN},  # chatbots, conversations, visitors and leads
}


def may(action: Action, holds: Set[str]) -> bool:
    """Return whether the caller's roles and permissions allow an action."""
    return not MAY[action].isdisjoint(holds)
