"""Store visitors' contact information and capture leads. Open point: lead-capture."""

from django.utils import timezone

from chatbots.models import LeadSettings
from config.database.row import save_changes
from conversations import events, notifications
from conversations.models import Lead, Thread, Visitor
from conversations.models.visitor import identified
from conversations.services import escalation


def change_contact(visitor: Visitor, contact: dict[str, str]) -> None:
    """Save a locked visitor with new contact information.

    A value that is replaced with nothing or white space counts as withdrawn. It is cleared in
    the leads of all the visitor's threads, whether or not the bot still collects leads.
    """
    for name, value in contact.items():
        setattr(visitor, name, value)
    visitor.save()
    if withdrawn := {name: "" for name, value in contact.items() if not value.strip()}:
        captured = Lead.objects.filter(thread__visitor=visitor)
        captured.update(**withdrawn, updated_at=timezone.now())


def allowed(thread: Thread, settings: LeadSettings) -> dict[str, str]:
    """Return the parts of the visitor's contact that the bot's settings allow, blanks as ""."""
    visitor = thread.visitor
    taken = {
        "name": visitor.name if settings.customer_name_take else "",
        "email": visitor.email if settings.customer_email_take else "",
        "phone": visitor.phone if settings.customer_phone_take else "",
    }
    return {name: value if value.strip() else "" for name, value in taken.items()}


def capture(thread: Thread) -> Lead | None:
    """Create the lead of a locked thread, with its event and mails, or update an existing one.

    Returns None if lead collection is off, or if there is no lead yet and no e-mail address or
    phone number that may be taken. Specification: Events, NEW_LEAD.
    """
    settings = LeadSettings.objects.filter(
        chatbot=thread.chatbot_id, enable_lead_collection=True
    ).first()
    if settings is None:
        return None
    contact = allowed(thread, settings)
    lead = Lead.objects.filter(thread=thread).first()
    if lead:
        return save_changes(lead, contact)
    if not identified(contact["email"], contact["phone"]):
        return None
    lead = Lead.objects.create(thread=thread, chatbot=thread.chatbot, **contact)
    events.new_lead(thread, lead)
    notifications.new_lead(thread, lead, settings)
    if settings.auto_escalate_on_lead_capture:
        escalation.request(thread)
    return lead
