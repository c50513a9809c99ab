"""Factories for valid visitors, threads, messages and leads. They need no arguments."""

from typing import Any

from django.db.models import Model
from factory import LazyAttribute, Sequence, SubFactory

from conversations.models import Lead, Message, Thread, Visitor
from conversations.models.message import MessageType
from conversations.services import history
from tests.factories.chatbots import ChatbotFactory
from tests.factories.row import RowFactory


class VisitorFactory(RowFactory):
    class Meta:
        model = Visitor

    chatbot = SubFactory(ChatbotFactory)
    external_id = Sequence("visitor-{}".format)
    total_sessions = 1


class ThreadFactory(RowFactory):
    class Meta:
        model = Thread

    chatbot = SubFactory(ChatbotFactory)
    visitor = LazyAttribute(lambda thread: VisitorFactory(chatbot=thread.chatbot))


class MessageFactory(RowFactory):
    """A message at the next position in its thread."""

    class Meta:
        model = Message

    thread = SubFactory(ThreadFactory)
    message_type = MessageType.USER_MESSAGE
    content = Sequence("message {}".format)

    @classmethod
    def _create(cls, model_class: type[Model], *args: Any, **fields: Any) -> Message:
        thread = fields["thread"]
        thread.last_position += 1
        thread.save(update_fields=["last_position"])
        return super()._create(model_class, *args, **{"position": thread.last_position} | fields)


def from_visitor(thread: Thread, content: str) -> Message:
    """Store a visitor's message as the service does."""
    message = history.new_from_visitor(thread, content)
    assert message
    message.save(force_insert=True)
    return message


class LeadFactory(RowFactory):
    class Meta:
        model = Lead

    thread = SubFactory(ThreadFactory)
    chatbot = LazyAttribute(lambda lead: lead.thread.chatbot)
    email = "visitor@example.com"
