"""The wire formats of lead settings. Specification: Resources, Lead settings."""

from typing import Any

from django.core.validators import EmailValidator, RegexValidator
from rest_framework import serializers

from chatbots.models import LeadSettings
from chatbots.models.lead_settings import FieldType
from chatbots.serializers.base import SettingsRecord, settings_fields, settings_shape
from config.api.fields import Choice, Flag, Text, TextList, expected

DECLARED = {"lead_notification_email", "customer_form_field"}
NOT_DOCUMENTED_HERE = {"when_user_share_details"}
MAX_EMAILS, MAX_FORM_FIELDS = 50, 50


class FormField(serializers.Serializer[Any]):
    """An extra field of the lead form, in addition to name, email and phone."""

    default_error_messages = expected("object")

    display_label = Text(allow_blank=True, help_text="A field with an empty label is not shown.")
    field_name = Text(  # type: ignore[assignment]  # the contract's name, which DRF uses too
        validators=[RegexValidator(r"^[a-z_][a-z0-9_]*\Z", "Expected snake_case")],
        help_text="Internal storage key, in snake_case.",
    )
    field_type = Choice(FieldType.values)
    required = Flag()  # type: ignore[assignment]  # the contract's name
    placeholder_text = Text(required=False)
    options = Text(required=False, help_text='Reserved; pass "".')


def notified_emails(**options: Any) -> TextList:
    """Return a list field for the email addresses that receive lead notifications."""
    email = Text(validators=[EmailValidator("Expected an email address")])
    return TextList(child=email, max_length=MAX_EMAILS, **options)


def form_fields(**options: Any) -> TextList:
    """Return a list field for the extra fields of the lead form."""
    return TextList(child=FormField(), max_length=MAX_FORM_FIELDS, **options)


class LeadSettingsRecord(SettingsRecord):
    """How a bot collects leads, and who is notified."""

    lead_notification_email = notified_emails()
    customer_form_field = form_fields()

    class Meta:
        model = LeadSettings
        fields = [
            "id",
            "chatbot_id",
            *[name for name in LeadSettings.own_fields() if name not in NOT_DOCUMENTED_HERE],
            "created_at",
            "updated_at",
        ]


LeadSettingsInput = settings_shape(
    "LeadSettingsInput",
    settings_fields(LeadSettings, without=DECLARED | NOT_DOCUMENTED_HERE)
    | {
        "lead_notification_email": notified_emails(required=False),
        "customer_form_field": form_fields(required=False),
    },
)
