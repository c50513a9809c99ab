"""Convert rows to event payloads, and record the events in the outbox.

No other module records events.

Specification: Events. Open points: role, event-strings, escalated-event.
"""

from conversations.models import Lead, Message, Thread, Visitor
from conversations.models.message import MessageType
from conversations.models.visitor import identified
from webhooks import outbox
from webhooks.payloads import (
    ConversationEscalated,
    EscalatedUser,
    LeadDetails,
    LeadInfo,
    NewLead,
    NewMessage,
)

ROLES = {
    MessageType.USER_MESSAGE: "user",
    MessageType.AI_MESSAGE: "assistant",
    MessageType.AGENT_MESSAGE: "agent",
}


def new_message(thread: Thread, message: Message) -> None:
    """Record NEW_MESSAGE for a message from the visitor, the AI or an agent."""
    from_user = message.message_type == MessageType.USER_MESSAGE
    data = NewMessage(
        chatbot_id=thread.chatbot_id,
        thread_id=thread.pk,
        message_id=message.pk,
        role=ROLES[MessageType(message.message_type)],
        question=message.content if from_user else None,
        answer=None if from_user else message.content,
        sources=[source["url"] for source in message.source],
        created_at=message.created_at,
    )
    outbox.record(thread.chatbot, data, thread_id=thread.pk, message_id=message.pk)


def escalated_user(visitor: Visitor) -> EscalatedUser | None:
    """Describe a visitor, or return None if no email address or phone number is known."""
    if not visitor.identified:
        return None
    return EscalatedUser(
        id=visitor.external_id,
        email=visitor.email,
        name=visitor.name,
        phone=visitor.phone,
        verified=False,  # the specification documents no way to verify a user
        created_at=visitor.first_seen_at,
    )


def lead_info(lead: Lead) -> LeadInfo | None:
    """Describe a lead, or return None if it no longer has an email address or phone number."""
    if not identified(lead.email, lead.phone):
        return None
    return LeadInfo(name=lead.name, email=lead.email, phone=lead.phone)


def escalated(thread: Thread) -> None:
    """Record CONVERSATION_ESCALATED, with the thread's lead if there is one."""
    lead = Lead.objects.filter(thread=thread).first()
    data = ConversationEscalated(
        chatbot_id=thread.chatbot_id,
        thread_id=thread.pk,
        dashboard_url=thread.dashboard_url,
        user=escalated_user(thread.visitor),
        lead_info=lead_info(lead) if lead else None,
    )
    outbox.record(thread.chatbot, data, thread_id=thread.pk)


def new_lead(thread: Thread, lead: Lead) -> None:
    """Record NEW_LEAD with the captured contact information."""
    data = NewLead(
        chatbot_id=thread.chatbot_id,
        chatbot_name=thread.chatbot.name,
        lead_details=LeadDetails(
            id=lead.pk,
            name=lead.name,
            email=lead.email,
            phone=lead.phone,
            captured_at=lead.captured_at,
        ),
    )
    outbox.record(thread.chatbot, data, thread_id=thread.pk)
