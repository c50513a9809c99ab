"""Messages. Specification: Endpoints, Threads and messages."""

from typing import Any

from chatbots.viewsets.base import ChatbotViewSet
from config.api.errors import InvalidRequest
from config.api.operation import operation
from conversations.access import ThreadNotFound, thread_key, thread_of
from conversations.models import Message
from conversations.serializers.message import (
    Exchange,
    History,
    HistoryQuery,
    MessageInput,
    MessageRecord,
    ReactionInput,
    ThreadState,
)
from conversations.services import history, reactions, visitor_message
from conversations.services.visitor_message import Sent


class MessageViewSet(ChatbotViewSet):
    """Send messages, read the history, and react to messages."""

    model = Message
    part = "Messages"
    needs_active = frozenset({"create"})
    path = "thread__chatbot"
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
    def create(self, given: dict[str, Any], thread_id: str) -> Sent:
        """Send a visitor's message.

        The response contains the message and, if there is one, the AI reply.
        """
        self.thread_id = thread_key(thread_id)
        incoming = visitor_message.receive(self.chatbot.pk, self.thread_id, given["content"])
        return visitor_message.send(incoming, message_id=self.run_as)

    @operation(query=HistoryQuery, answer=History, open_points=("message-order", "mode"))
    def list(self, query: dict[str, Any], thread_id: str) -> dict[str, Any]:
        """Read the history, newest first."""
        thread, limit, before = thread_key(thread_id), query["limit"], query.get("before")
        states = ThreadState.find(thread_of, thread=thread, **self.scope())
        if not states:
            raise ThreadNotFound
        records = MessageRecord.find(history.page, limit, thread=thread, before=before)
        if before and not (records or self.rows().filter(thread=thread, pk=before).exists()):
            raise InvalidRequest.at(["before"], "Expected the id of a message in this thread")
        shown, cursor = history.cut(records, limit)
        return {"messages": shown, "thread": states[0], "pagination": cursor}

    @operation(body=ReactionInput, answer=MessageRecord, open_points=("message-reaction",))
    def update(self, given: dict[str, Any], message_id: str) -> Message:
        """Store the visitor's reaction to a message."""
        return reactions.react(self.row(message_id), given["reaction"])
