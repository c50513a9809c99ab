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
from conversations.services import history, reactions, visitor_message
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
        """Send a visitor's message. The response contains the AI reply."""
        thread = open_thread(self.chatbot, thread_id)
        self.thread_id = thread.pk
        messages = visitor_message.send(thread, given["content"], message_id=self.run_as)
        return {"messages": messages, "thread": open_thread(self.chatbot, thread_id)}

    @operation(query=HistoryQuery, answer=History, open_points=("message-order", "mode"))
    def list(self, query: dict[str, Any], thread_id: str) -> dict[str, Any]:
        """Read the history, newest first."""
        thread, limit = open_thread(self.chatbot, thread_id), query["limit"]
        messages = self.rows().filter(thread=thread)
        try:
            page = history.page(messages, limit=limit, before=query.get("before"))
        except Message.DoesNotExist:
            raise InvalidRequest.at(
                ["before"], "Expected the id of a message of this thread"
            ) from None
        shown, cursor = history.cut(MessageRecord.read(page), limit)
        return {"messages": shown, "thread": thread, "pagination": cursor}

    @operation(body=ReactionInput, answer=MessageRecord, open_points=("message-reaction",))
    def update(self, given: dict[str, Any], message_id: str) -> Message:
        """Store the visitor's reaction to a message."""
        message: Message = self.row(message_id)
        return reactions.react(message.pk, given["reaction"])
