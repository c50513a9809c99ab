"""The wire formats of a message and of the history."""

from rest_framework import serializers

from config.api.fields import Flag, Identifier, QueryWhole, Text, Timestamp, Whole, computed
from config.api.pagination import LIMIT, MAX_LIMIT
from config.api.serializers import Record, Shape
from config.database.lengths import LONG
from conversations.models import Message, Thread
from conversations.models.thread import MODES
from conversations.models.visitor import anonymous


def anonymity() -> Flag:
    """Declare the field that shows whether a thread is anonymous."""
    made: Flag = computed(Flag, "anonymous", "visitor.email", "visitor.phone", of=anonymous)
    return made


class Source(serializers.Serializer[object]):
    """A source of an AI reply."""

    title = Text()
    url = Text()


class MessageRecord(Record):
    """A message in a thread."""

    chatbot_id = Identifier(source="thread.chatbot_id")
    message_type = Text(help_text="USER_MESSAGE, AI_MESSAGE, AGENT_MESSAGE or SYSTEM_MESSAGE.")
    system_message_type = Text(
        allow_null=True,
        help_text="CONVERSATION_ESCALATED or CONVERSATION_RETURNED_TO_AI; null on other messages.",
    )
    content_timestamp = Timestamp(source="created_at")
    source = Source(many=True)  # type: ignore[assignment]  # DRF's fields use this name, too
    open_points = {
        "message_type": ["message-type"],
        "system_message_type": ["system-type"],
        "content_timestamp": ["thread-fields"],
        "reaction": ["message-reaction"],
        "source": ["source"],
        "is_edited": ["thread-fields"],
        "edited_by": ["thread-fields"],
        "edited_at": ["thread-fields"],
    }

    class Meta:
        model = Message
        fields = [
            "id",
            "thread_id",
            "chatbot_id",
            "message_type",
            "system_message_type",
            "content",
            "content_timestamp",
            "agent_name",
            "parent_message_id",
            "llm_model_id",
            "reaction",
            "source",
            "is_edited",
            "edited_by",
            "edited_at",
            "created_at",
            "updated_at",
        ]


class ThreadState(Record):
    """Who answers in a thread, and how many messages staff have not read."""

    mode = computed(
        Text, "escalated", of=MODES.get, help_text="AGENT while escalated, otherwise AI."
    )
    anonymous = anonymity()
    open_points = {"mode": ["mode"], "anonymous": ["thread-fields"]}

    class Meta:
        model = Thread
        fields = ["id", "mode", "anonymous", "unread_messages_count"]


class HistoryQuery(Shape):
    """The part of the history to return."""

    limit = QueryWhole(
        default=LIMIT, min_value=1, max_value=MAX_LIMIT, help_text="Messages per page."
    )
    before = Identifier(
        required=False,
        help_text="The id of a message; only older messages are returned.",
        error_messages={"invalid": "Expected the id of a message in this thread"},
    )


class Cursor(Shape):
    """How to read the next page: pass `nextCursor` as `before`."""

    limit = Whole()
    has_more = Flag()
    next_cursor = Text(allow_null=True)
    open_points = {"next_cursor": ["message-order"]}


class History(Shape):
    """A page of the history, newest first."""

    messages = MessageRecord(many=True)
    thread = ThreadState()
    pagination = Cursor()


class MessageInput(Shape):
    """A visitor's message."""

    content = Text(max_length=LONG)


class Exchange(Shape):
    """The visitor's message, followed by the AI reply if there is one."""

    messages = MessageRecord(many=True)
    thread = ThreadState()


class ReactionInput(Shape):
    """A visitor's reaction to a message; null removes it."""

    reaction = Text(allow_null=True, allow_blank=True)
    open_points = {"reaction": ["message-reaction"]}
