"""Write the emails about escalations, long waits and leads.

Each email is stored as a row, in the same transaction as the change that causes it. A worker sends
it later.
"""

from accounts.models import User
from accounts.notifications import write
from chatbots.models import Chatbot, LeadSettings
from conversations.models import Lead, Thread


def staff_of(thread: Thread) -> list[str]:
    """List the email addresses of the people who may use a thread's chatbot."""
    staff = Chatbot.objects.filter(pk=thread.chatbot_id).agents().order_by("email")
    return list(staff.values_list("email", flat=True))


def escalated(thread: Thread) -> None:
    """Notify staff that a visitor has asked for an agent, if the account has this email enabled."""
    if thread.chatbot.account.mail_on_escalation:
        write(
            thread.chatbot.account,
            staff_of(thread),
            thread_id=thread.pk,
            subject=f"{thread.chatbot.name}: {thread.visitor} has asked for a person",
            body=(
                f"{thread.visitor} has asked for a person.\n\nAnswer here: {thread.dashboard_url}\n"
            ),
        )


def still_waiting(thread: Thread) -> None:
    """Remind staff of a visitor who is still waiting for an agent."""
    minutes = thread.chatbot.account.remind_after_minutes
    allowed = f"{minutes} minute{'' if minutes == 1 else 's'}"
    write(
        thread.chatbot.account,
        staff_of(thread),
        thread_id=thread.pk,
        subject=f"{thread.chatbot.name}: {thread.visitor} is still waiting for a person",
        body=(
            f"{thread.visitor} has been waiting for an answer for more than {allowed}.\n\n"
            f"Answer here: {thread.dashboard_url}\n"
        ),
    )


def mentioned(thread: Thread, emails: list[str], *, by: User, text: str) -> None:
    """Notify colleagues that an internal note mentions them."""
    write(
        thread.chatbot.account,
        emails,
        thread_id=thread.pk,
        subject=f"{thread.chatbot.name}: {by.get_full_name()} mentioned you in a note",
        body=f"{text}\n\nOpen the conversation: {thread.dashboard_url}\n",
    )


def new_lead(thread: Thread, lead: Lead, settings: LeadSettings) -> None:
    """Email the recipients in the lead settings about a new lead, if `lead_notification` is on.

    Specification: Lead settings.
    """
    if settings.lead_notification:
        write(
            thread.chatbot.account,
            settings.lead_notification_email,
            thread_id=thread.pk,
            subject=f"{thread.chatbot.name}: new lead {lead}",
            body=(
                f"A visitor to {thread.chatbot.name} left contact information.\n\n"
                f"Name: {lead.name}\nEmail: {lead.email}\nPhone: {lead.phone}\n\n"
                f"Conversation: {thread.dashboard_url}\n"
            ),
        )
