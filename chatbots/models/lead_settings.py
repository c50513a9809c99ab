"""How a bot collects leads and notifies staff. Specification: Resources, Lead settings."""

from django.db import models

from chatbots.models.base import ChatbotSettings, flag, long_text, text

USER_DATA = (
    "enable_lead_collection",
    "customer_name_take",
    "customer_phone_take",
    "customer_email_take",
)


class ShareDetails(models.TextChoices):
    """Whether visitors must share contact details, may share them, or are not asked for them.

    Specification: General and user-data settings.
    """

    MANDATORY = "mandatory"
    OPTIONAL = "optional"
    DO_NOT_COLLECT = "do_not_collect", "Do not collect"


class FieldType(models.TextChoices):
    """The input type of an extra field in the lead form. Specification: Lead settings."""

    TEXT = "text"
    TEXTAREA = "textarea"
    EMAIL = "email"
    PHONE = "phone"


class LeadSettings(ChatbotSettings):
    """A chatbot's lead settings. Each chatbot has at most one row.

    The row is created when the settings are first changed. Open point: lead-repeat.
    """

    enable_lead_collection = flag(True, label="collect leads")
    customer_name_take = flag(True, label="ask for the name")
    customer_phone_take = flag(True, label="ask for the phone number")
    customer_email_take = flag(True, label="ask for the email address")
    industry_template = text()
    when_to_collect_lead = text(label="when to ask")
    customer_trigger_keywords = long_text()
    booking_integration = flag()
    booking_integration_link = text(label="booking link")
    lead_notification = flag(label="notify by email")
    lead_notification_email = models.JSONField(default=list, blank=True)
    customer_form_field = models.JSONField(default=list, blank=True)
    auto_escalate_on_lead_capture = flag(label="escalate when a lead is captured")
    # Stored but never returned. Open point: user-data
    when_user_share_details = text(label="sharing of contact details")

    class Meta:
        verbose_name_plural = "lead settings"
