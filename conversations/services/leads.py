"""Capture contact information as a lead. Open point: lead-capture."""

from chatbots.models import LeadSettings
from conversations import events, notifications
from conversations.models import Lead, Thread
from conversations.services import escalation


def allowed(thread: Thread, settings: LeadSettings) -> dict[str, str]:
    """Take of the visitor's contact what the bot's settings allow."""
    visitor = thread.visitor
    return {
        "name": visitor.name if settings.customer_name_take else "",
        "email": visitor.email if settings.customer_email_take else "",
        "phone": visitor.phone if settings.customer_phone_take else "",
    }


def capture(thread: Thread) -> Lead | None:
    """Keep the lead of a locked thread: made once, with its event and mails, then kept up to date.

    None where collection is off or neither e-mail nor phone number may be taken.
    Specification: Events, NEW_LEAD.
    """
    settings = LeadSettings.objects.filter(
        chatbot=thread.chatbot_id, enable_lead_collection=True
    ).first()
    contact = allowed(thread, settings) if settings else {}
    if settings is None or not (contact["email"] or contact["phone"]):
        return None
    lead, made = Lead.objects.update_or_create(
        thread=thread, defaults=contact, create_defaults={"chatbot": thread.chatbot, **contact}
    )
    if made:
        events.new_lead(thread, lead)
        notifications.new_lead(thread, lead, settings)
        if settings.auto_escalate_on_lead_capture:
            escalation.request(thread)
    return lead
