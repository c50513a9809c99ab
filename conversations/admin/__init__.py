from conversations.admin.canned_reply import CannedReplyAdmin
from conversations.admin.endpoint import CountedEndpointAdmin
from conversations.admin.inbox import ThreadAdmin
from conversations.admin.lead import LeadAdmin
from conversations.admin.periodic_work import PeriodicWorkAdmin
from conversations.admin.visitor import VisitorAdmin

__all__ = [
    "CannedReplyAdmin",
    "CountedEndpointAdmin",
    "LeadAdmin",
    "PeriodicWorkAdmin",
    "ThreadAdmin",
    "VisitorAdmin",
]
