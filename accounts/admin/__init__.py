from accounts.admin.account import AccountAdmin
from accounts.admin.api_key import ApiKeyAdmin
from accounts.admin.change import ChangeAdmin
from accounts.admin.invitation import InvitationAdmin
from accounts.admin.mail import MailAdmin
from accounts.admin.plan import PlanAdmin
from accounts.admin.usage import UsageAdmin
from accounts.admin.user import PersonAdmin

__all__ = [
    "AccountAdmin",
    "ApiKeyAdmin",
    "ChangeAdmin",
    "InvitationAdmin",
    "MailAdmin",
    "PersonAdmin",
    "PlanAdmin",
    "UsageAdmin",
]
