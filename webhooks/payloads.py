"""Define event kinds and the shapes of their data, for bytes, samples and the document.

Specification: Events, Event kinds and Body shapes. Open point: event-strings.
"""

from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from config.api.body import dumps
from config.api.naming import camel
from config.database.ids import new_id


class Event(StrEnum):
    """The kinds of events."""

    NEW_MESSAGE = "NEW_MESSAGE"
    CONVERSATION_ESCALATED = "CONVERSATION_ESCALATED"
    NEW_LEAD = "NEW_LEAD"


@dataclass(frozen=True)
class NewMessage:
    """A message in a thread, from the user, the AI or an agent."""

    chatbot_id: UUID
    thread_id: UUID
    message_id: UUID
    role: str
    question: str | None
    answer: str | None
    sources: list[str]
    created_at: datetime


@dataclass(frozen=True)
class EscalatedUser:
    """Who asked for a person."""

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
class ConversationEscalated:
    """A visitor requests human support."""

    chatbot_id: UUID
    thread_id: UUID
    dashboard_url: str
    user: EscalatedUser | None
    lead_info: LeadInfo | None


@dataclass(frozen=True)
class LeadDetails:
    """A captured lead."""

    id: UUID
    name: str
    email: str
    phone: str
    captured_at: datetime


@dataclass(frozen=True)
class NewLead:
    """A visitor's contact information is captured as a lead."""

    chatbot_id: UUID
    chatbot_name: str
    lead_details: LeadDetails


Data = NewMessage | ConversationEscalated | NewLead
KINDS: dict[type[Data], Event] = {
    NewMessage: Event.NEW_MESSAGE,
    ConversationEscalated: Event.CONVERSATION_ESCALATED,
    NewLead: Event.NEW_LEAD,
}


def sample(event: Event, *, chatbot_id: UUID, chatbot_name: str, dashboard_url: str) -> Data:
    """Make up the data of an event, for a test dispatch.

    Specification: Events, 4.
    """
    now, thread_id = datetime.now(UTC), new_id()
    name, email, phone = "Ada Example", "ada@example.com", "+1 555 0100"
    if event is Event.NEW_MESSAGE:
        return NewMessage(
            chatbot_id=chatbot_id,
            thread_id=thread_id,
            message_id=new_id(),
            role="user",
            question="This is a test message. Does it arrive?",
            answer=None,
            sources=[],
            created_at=now,
        )
    if event is Event.CONVERSATION_ESCALATED:
        visitor = str(new_id())
        return ConversationEscalated(
            chatbot_id=chatbot_id,
            thread_id=thread_id,
            dashboard_url=dashboard_url,
            user=EscalatedUser(visitor, email, name, phone, verified=False, created_at=now),
            lead_info=LeadInfo(name=name, email=email, phone=phone),
        )
    return NewLead(
        chatbot_id=chatbot_id,
        chatbot_name=chatbot_name,
        lead_details=LeadDetails(new_id(), name, email, phone, captured_at=now),
    )


def outside(value: Any) -> Any:
    """Rename a payload's fields to camelCase for the wire, at every level."""
    if isinstance(value, dict):
        return {camel(name): outside(inner) for name, inner in value.items()}
    return value


def body(data: Data) -> bytes:
    """Return the exact bytes of an event: `{event, data}`."""
    return dumps({"event": KINDS[type(data)].value, "data": outside(asdict(data))})
