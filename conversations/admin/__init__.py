from conversations.admin.inbox import ThreadAdmin
from conversations.admin.lead import LeadAdmin
from conversations.admin.visitor import VisitorAdmin

__all__ = ["LeadAdmin", "ThreadAdmin", "VisitorAdmin"]
