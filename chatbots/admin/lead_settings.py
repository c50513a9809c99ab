"""The lead settings form. It applies the API's rules and takes one email address per line."""

from typing import Any

from django import forms
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextareaWidget

from accounts.admin.json_field import validated
from chatbots.models import LeadSettings
from chatbots.models.lead_settings import ShareDetails
from chatbots.serializers.lead_settings import form_fields, notified_emails
from config.admin.conflict import ConflictForm


class Lines(forms.Field):
    """A list of strings, one per line."""

    widget = UnfoldAdminTextareaWidget

    def prepare_value(self, value: Any) -> Any:
        """Join a list into lines. Text that a person has typed is returned unchanged."""
        return "\n".join(value) if isinstance(value, list) else value

    def to_python(self, value: Any) -> list[str]:
        """Split the text into lines, and drop empty ones."""
        return [line.strip() for line in (value or "").splitlines() if line.strip()]

    def has_changed(self, initial: Any, data: Any) -> bool:
        """Compare the values as lists."""
        return bool((initial or []) != self.to_python(data))


class LeadSettingsForm(ConflictForm):
    """Validates email addresses and form fields as the API does, and offers its sharing choices."""

    lead_notification_email = Lines(
        required=False, label="Email new leads to", help_text="One email address per line"
    )
    when_user_share_details = forms.ChoiceField(
        required=False,
        label="Sharing of contact details",
        choices=[("", "Not set"), *ShareDetails.choices],
        widget=UnfoldAdminSelectWidget,
    )

    class Meta:
        model = LeadSettings
        fields = tuple(LeadSettings.own_fields())

    def has_changed(self) -> bool:
        """Treat a new form as changed, so that Django saves it even with default values."""
        return self.instance._state.adding or super().has_changed()

    def clean_lead_notification_email(self) -> Any:
        """Require valid email addresses."""
        return validated(notified_emails(), self.cleaned_data["lead_notification_email"])

    def clean_customer_form_field(self) -> Any:
        """Require a list of valid form fields."""
        return validated(form_fields(), self.cleaned_data["customer_form_field"] or [])
