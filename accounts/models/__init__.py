from accounts.models.account import Account
from accounts.models.api_key import ApiKey
from accounts.models.change import Change
from accounts.models.invitation import Invitation
from accounts.models.mail import Mail
from accounts.models.membership import Membership
from accounts.models.plan import Plan
from accounts.models.stored_answer import StoredAnswer
from accounts.models.usage import Usage
from accounts.models.user import User

__all__ = [
    "Account",
    "ApiKey",
    "Change",
    "Invitation",
    "Mail",
    "Membership",
    "Plan",
    "StoredAnswer",
    "Usage",
    "User",
]
