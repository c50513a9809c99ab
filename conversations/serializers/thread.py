"""The wire formats of a thread, one for each documented shape. Specification: Thread."""

from config.api.fields import Flag, Identifier, Text, TextList, Timestamp, Whole, computed
from config.api.pagination import PageFigures
from config.api.serializers import Record, Shape
from config.database.lengths import LONG
from conversations.models import Thread
from conversations.models.visitor import identified
from conversations.serializers.message import MessageRecord, anonymity
from webhooks.guard import LONGEST_URL

FLAGS = ["anonymous", "escalated", "important", "resolved", "archived"]
COUNTS = ["unread_messages_count", "positive_count", "negative_count"]
ICONS = ["bot_icon_src", "user_icon_src", "agent_icon_src", "bubble_icon_src"]


def known(text: str | None) -> str:
    """Return the text, or "" if it is missing. Open point: event-strings."""
    return text or ""


def icon(name: str) -> Text:
    """Return a field that reads an icon from the chatbot's appearance."""
    made: Text = computed(Text, f"chatbot.appearance.{name}", of=known)
    return made


def model_of(key: object, provider: str, title: str) -> dict[str, object] | None:
    """Build the value of `llm_model` from its columns, or return None if there is no model."""
    return {"id": key, "provider": provider, "title": title} if key else None


class LlmModelPart(Shape):
    """The model that answers in a thread."""

    id = Identifier()
    provider = Text()
    title = Text()


def answering_model() -> LlmModelPart:
    """Return a field whose value comes from the annotations of `with_llm`."""
    columns = ("llm_id", "llm_provider", "llm_title")
    made: LlmModelPart = computed(LlmModelPart, *columns, of=model_of, allow_null=True)
    return made


class ThreadRecord(Record):
    """A thread as returned when it is created, escalated, listed or changed."""

    visitor_id = Text(source="visitor.external_id")
    anonymous = anonymity()
    tags = TextList()
    visitor_name = Text(source="visitor.name")
    visitor_email = Text(source="visitor.email")
    visitor_phone = Text(source="visitor.phone")
    bot_icon_src = icon("bot_icon_src")
    user_icon_src = icon("user_icon_src")
    agent_icon_src = icon("agent_icon_src")
    bubble_icon_src = icon("bubble_icon_src")
    llm_model = answering_model()
    open_points = {
        "visitor_id": ["visitor"],
        "title": ["thread-fields"],
        "anonymous": ["thread-fields"],
        "unread_messages_count": ["thread-fields"],
        "ended_at": ["thread-fields"],
        "llm_model": ["default-model"],
    }

    class Meta:
        model = Thread
        fields = [
            "id",
            "chatbot_id",
            "visitor_id",
            "title",
            *FLAGS,
            *COUNTS,
            "tags",
            "platform_source",
            "started_at",
            "updated_at",
            "ended_at",
            "visitor_name",
            "visitor_email",
            "visitor_phone",
            *ICONS,
            "llm_model",
        ]


class ThreadDetails(Record):
    """A thread with its visitor's details."""

    visitor_id = Text(source="visitor.external_id")
    anonymous = anonymity()
    visitor_is_identified = computed(Flag, "visitor.email", "visitor.phone", of=identified)
    visitor_total_sessions = Whole(source="visitor.total_sessions")
    visitor_total_messages = Whole(source="visitor.total_messages")
    webhook_url = computed(Text, "chatbot.endpoint.url", of=known, max_length=LONGEST_URL)
    webhook_token = computed(Text, "chatbot.endpoint.masked_secret", of=known)
    tags = TextList()
    visitor_first_seen_at = Timestamp(source="visitor.first_seen_at")
    visitor_last_seen_at = Timestamp(source="visitor.last_seen_at")
    visitor_name = Text(source="visitor.name")
    visitor_email = Text(source="visitor.email")
    visitor_phone_number = Text(source="visitor.phone")
    open_points = {
        "visitor_id": ["visitor"],
        "anonymous": ["thread-fields"],
        "visitor_is_identified": ["thread-fields"],
        "unread_messages_count": ["thread-fields"],
        "visitor_total_sessions": ["thread-fields"],
        "visitor_total_messages": ["thread-fields"],
        "webhook_url": ["webhook-token"],
        "webhook_token": ["webhook-token"],
        "ended_at": ["thread-fields"],
    }

    class Meta:
        model = Thread
        fields = [
            "id",
            "chatbot_id",
            "visitor_id",
            *FLAGS,
            "visitor_is_identified",
            *COUNTS,
            "visitor_total_sessions",
            "visitor_total_messages",
            "webhook_url",
            "webhook_token",
            "tags",
            "internal_notes",
            "platform_source",
            "started_at",
            "updated_at",
            "ended_at",
            "visitor_first_seen_at",
            "visitor_last_seen_at",
            "visitor_name",
            "visitor_email",
            "visitor_phone_number",
        ]


class OneThread(Shape):
    """A thread."""

    thread = ThreadRecord()


class OneThreadDetails(Shape):
    """A thread with its visitor's details."""

    thread = ThreadDetails()


class ThreadPage(Shape):
    """A page of threads, latest activity first."""

    threads = ThreadRecord(many=True)
    pagination = PageFigures()


class Toggled(Shape):
    """The thread after its escalation was toggled, and the system message about it."""

    thread = ThreadRecord()
    system_message = MessageRecord()


class ThreadInput(Shape):
    """A new thread. All fields are optional."""

    open_points = {"visitor_id": ["visitor"]}
    visitor_id = Text(required=False, allow_blank=False)
    title = Text(required=False)
    anonymous = Flag(required=False)
    platform_source = Text(required=False)
    tags = TextList(required=False)
    visitor_name = Text(required=False)
    visitor_email = Text(required=False)
    visitor_phone = Text(required=False)


class ThreadChanges(Shape):
    """Changes to a thread and its visitor. Omitted fields keep their values."""

    thread_id = Text(max_length=LONG)
    title = Text(required=False)
    important = Flag(required=False)
    resolved = Flag(required=False)
    archived = Flag(required=False)
    tags = TextList(required=False)
    internal_notes = Text(required=False, max_length=LONG)
    visitor_name = Text(required=False)
    visitor_email = Text(required=False)
    visitor_phone = Text(required=False)
