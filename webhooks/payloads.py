"""Define event kinds and the shapes of their data, for requests, samples and the OpenAPI document.

To add a kind, add a member of `Event` and a subclass of `Data`, record the event in
`conversations/events.py`, and show its body in docs/webhooks.md.
Specification: Events, Event kinds and Body shapes. Open point: event-strings.
"""

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, ClassVar, Self
from uuid import UUID

from config.api.naming import camel
from config.api.strict_json import dumps
from config.database.ids import new_id


class Event(StrEnum):
    """The kinds of events."""

    NEW_MESSAGE = "NEW_MESSAGE"
    CONVERSATION_ESCALATED = "CONVERSATION_ESCALATED"
    NEW_LEAD = "NEW_LEAD"


def event_choices() -> list[tuple[str, str]]:
    """Return the event kinds as choices for a model field. Migrations refer to this function."""
    return [(event.value, event.value) for event in Event]


@dataclass(frozen=True)
class Context:
    """The real values in a sample event, whose other values are made up."""

    chatbot_id: UUID
    chatbot_name: str
    dashboard_url: str


@dataclass(frozen=True)
class Data(ABC):
    """The data of an event. Each kind is a frozen dataclass.

    The docstrings of these classes are shown in the OpenAPI document.
    """

    event: ClassVar[Event]
    open_points: ClassVar[tuple[str, ...]] = ()

    @classmethod
    @abstractmethod
    def sample(cls, context: Context) -> Self:
        """Return made-up data for a test dispatch. Specification: Events, 4."""


# Name, email address and phone number of the visitor in the samples
VISITOR = ("Ada Example", "ada@example.com", "+1 555 0100")


@dataclass(frozen=True)
class NewMessage(Data):
    """A message in a thread, from the user, the AI or an agent."""

    event = Event.NEW_MESSAGE
    open_points = ("role",)

    chatbot_id: UUID
    thread_id: UUID
    message_id: UUID
    role: str
    question: str | None
    answer: str | None
    sources: list[str]
    created_at: datetime

    @classmethod
    def sample(cls, context: Context) -> Self:
        """Return a sample question from a visitor."""
        return cls(
            chatbot_id=context.chatbot_id,
            thread_id=new_id(),
            message_id=new_id(),
            role="user",
            question="This is a test message. Did it arrive?",
            answer=None,
            sources=[],
            created_at=datetime.now(UTC),
        )


@dataclass(frozen=True)
class EscalatedUser:
    """The visitor of the escalated thread."""

    id: str
    email: str
    name: str
    phone: str
    verified: bool
    created_at: datetime


@dataclass(frozen=True)
class LeadInfo:
    """The contact information that the visitor left."""

    name: str
    email: str
    phone: str


@dataclass(frozen=True)
class ConversationEscalated(Data):
    """A visitor requests human support."""

    event = Event.CONVERSATION_ESCALATED
    open_points = ("escalated-event", "event-strings")

    chatbot_id: UUID
    thread_id: UUID
    dashboard_url: str
    user: EscalatedUser | None
    lead_info: LeadInfo | None

    @classmethod
    def sample(cls, context: Context) -> Self:
        """Return a sample escalation by a visitor who has left contact information."""
        name, email, phone = VISITOR
        user = EscalatedUser(
            str(new_id()), email, name, phone, verified=False, created_at=datetime.now(UTC)
        )
        return cls(
            chatbot_id=context.chatbot_id,
            thread_id=new_id(),
            dashboard_url=context.dashboard_url,
            user=user,
            lead_info=LeadInfo(name, email, phone),
        )


@dataclass(frozen=True)
class LeadDetails:
    """A captured lead."""

    id: UUID
    name: str
    email: str
    phone: str
    captured_at: datetime


@dataclass(frozen=True)
class NewLead(Data):
    """A visitor's contact information is captured as a lead."""

    event = Event.NEW_LEAD
    open_points = ("lead-capture", "event-strings")

    chatbot_id: UUID
    chatbot_name: str
    lead_details: LeadDetails

    @classmethod
    def sample(cls, context: Context) -> Self:
        """Return a sample lead, captured at the current time."""
        return cls(
            chatbot_id=context.chatbot_id,
            chatbot_name=context.chatbot_name,
            lead_details=LeadDetails(new_id(), *VISITOR, captured_at=datetime.now(UTC)),
        )


# The data class of each event kind, in the order of `Event`. A kind without a class causes a
# KeyError when the service starts.
KINDS: dict[Event, type[Data]] = {
    event: {kind.event: kind for kind in Data.__subclasses__()}[event] for event in Event
}


def outside(value: Any) -> Any:
    """Convert the names of a payload's fields to camelCase, at every level."""
    if isinstance(value, dict):
        return {camel(name): outside(inner) for name, inner in value.items()}
    return value


def body(data: Data) -> bytes:
    """Return the exact bytes to send for an event: `{event, data}` as JSON."""
    return dumps({"event": data.event.value, "data": outside(asdict(data))})
