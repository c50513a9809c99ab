"""Store visitors' contact information and capture leads. Open point: lead-capture."""

from django.utils import timezone

from chatbots.access import ChatbotNotFound
from chatbots.models import Chatbot, LeadSettings
from config.database.prepared import insert, update_columns
from config.database.row import save_changes
from conversations import events, notifications
from conversations.models import Lead, Thread, Visitor
from conversations.models.visitor import identified
from conversations.services import escalation


def change_contact(visitor: Visitor, contact: dict[str, str], *columns: str) -> None:
    """Save a locked visitor's new contact information, and other columns that the caller changed.

    A blank value also clears the value in the leads of all of the visitor's threads, even if the
    bot no longer collects leads.
    """
    for name, value in contact.items():
        setattr(visitor, name, value)
    update_columns(visitor, [*contact, *columns, "updated_at"])
    if withdrawn := {name: "" for name, value in contact.items() if not value.strip()}:
        captured = Lead.objects.filter(thread__visitor=visitor)
        captured.update(**withdrawn, updated_at=timezone.now())


def allowed(thread: Thread, settings: LeadSettings) -> dict[str, str]:
    """Return the contact information that the lead settings permit. Blank values become ""."""
    visitor = thread.visitor
    taken = {
        "name": visitor.name if settings.customer_name_take else "",
        "email": visitor.email if settings.customer_email_take else "",
        "phone": visitor.phone if settings.customer_phone_take else "",
    }
    return {name: value if value.strip() else "" for name, value in taken.items()}


def capture(thread: Thread) -> Lead | None:
    """Create the lead of a locked thread, with its event and email, or update the existing lead.

    A new lead also escalates the thread if the lead settings require it. Returns None if lead
    collection is off, or if there is no lead yet and no email address or phone number to store.
    Raises ChatbotNotFound if the chatbot was erased in the meantime.
    Specification: Events, NEW_LEAD.
    """
    rows = Chatbot.objects.select_related("leadsettings")
    chatbot = rows.filter(pk=thread.chatbot_id).first()
    if chatbot is None:
        raise ChatbotNotFound
    settings: LeadSettings | None = getattr(chatbot, "leadsettings", None)
    if settings is None or not settings.enable_lead_collection:
        return None
    contact = allowed(thread, settings)
    lead = Lead.objects.filter(thread=thread).first()
    if lead:
        return save_changes(lead, contact)
    if not identified(contact["email"], contact["phone"]):
        return None
    lead = Lead(thread=thread, chatbot=thread.chatbot, **contact)
    insert(lead)
    events.new_lead(thread, lead)
    notifications.new_lead(thread, lead, settings)
    if settings.auto_escalate_on_lead_capture:
        escalation.request(thread)
    return lead
