from conversations.models.draft import Draft
from conversations.models.lead import Lead
from conversations.models.message import Message
from conversations.models.owed_reply import OwedReply
from conversations.models.thread import Thread
from conversations.models.thread_count import ThreadCount
from conversations.models.visitor import Visitor

__all__ = ["Draft", "Lead", "Message", "OwedReply", "Thread", "ThreadCount", "Visitor"]
