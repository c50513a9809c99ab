"""Messages. Specification: Endpoints, Threads and messages."""

from typing import Any

from config.api.errors import InvalidRequest
from config.api.operation import operation
from conversations.access import open_thread
from conversations.models import Message
from conversations.serializers.message import (
    Exchange,
    History,
    HistoryQuery,
    MessageInput,
    MessageRecord,
    ReactionInput,
)
from conversations.services import reactions, visitor_message
from conversations.viewsets.base import ChattingViewSet


class MessageViewSet(ChattingViewSet):
    """Send messages, read the history, react."""

    model = Message
    part = "Messages"
    scope = "thread__chatbot"
    waiting = frozenset({"create"})

    @operation(
        body=MessageInput,
        answer=Exchange,
        open_points=(
            "message-send",
            "chatbot-active",
            "escalated-reply",
            "escalation-prompt",
            "max-messages",
            "parallel-sends",
            "send-order",
            "replies-in-flight",
            "quota-count",
            "quota-body",
            "plan-scope",
            "prompt",
            "ai-failure",
            "resolved-thread",
            "reply-owed",
        ),
    )
    def create(self, given: dict[str, Any], thread_id: str) -> dict[str, Any]:
        """Send a visitor's message; the AI reply is in the answer."""
        thread = open_thread(self.chatbot, thread_id)
        self.thread_id = thread.pk
        messages = visitor_message.send(thread, given["content"], message_id=self.run_as)
        return {"messages": messages, "thread": open_thread(self.chatbot, thread_id)}

    @operation(query=HistoryQuery, answer=History, open_points=("message-order", "mode"))
    def list(self, query: dict[str, Any], thread_id: str) -> dict[str, Any]:
        """Read the history, newest first."""
        thread, limit = open_thread(self.chatbot, thread_id), query["limit"]
        rows = self.rows().filter(thread=thread)
        if before := query.get("before"):
            try:
                rows = rows.older_than(before)
            except Message.DoesNotExist:
                raise InvalidRequest.at(
                    ["before"], "Expected the id of a message of this thread"
                ) from None
        records = MessageRecord.read(rows.newest_first()[: limit + 1])
        page, more = records[:limit], len(records) > limit
        return {
            "messages": page,
            "thread": thread,
            "pagination": {
                "limit": limit,
                "has_more": more,
                "next_cursor": page[-1]["id"] if more else None,
            },
        }

    @operation(body=ReactionInput, answer=MessageRecord, open_points=("message-reaction",))
    def update(self, given: dict[str, Any], message_id: str) -> Message:
        """Keep the visitor's reaction to a message."""
        message: Message = self.row(message_id)
        return reactions.react(message.pk, given["reaction"])
