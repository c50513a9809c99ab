from conversations.models.activity import Activity
from conversations.models.canned_reply import CannedReply
from conversations.models.draft import Draft
from conversations.models.handoff import Handoff
from conversations.models.lead import Lead
from conversations.models.ledger_check import LedgerCheck
from conversations.models.message import Message
from conversations.models.owed_reply import OwedReply
from conversations.models.reply_origin import ReplyOrigin
from conversations.models.saved_view import SavedView
from conversations.models.thread import Thread
from conversations.models.thread_count import ThreadCount
from conversations.models.timeline_entry import TimelineEntry
from conversations.models.token_usage import TokenUsage
from conversations.models.visitor import Visitor

__all__ = [
    "Activity",
    "CannedReply",
    "Draft",
    "Handoff",
    "Lead",
    "LedgerCheck",
    "Message",
    "OwedReply",
    "ReplyOrigin",
    "SavedView",
    "Thread",
    "ThreadCount",
    "TimelineEntry",
    "TokenUsage",
    "Visitor",
]
