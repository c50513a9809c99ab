"""The forms that configure a chatbot's webhook and replace its secret."""

from typing import Any

from django import forms
from unfold.widgets import (
    UnfoldAdminCheckboxSelectMultipleWidget,
    UnfoldAdminPasswordWidget,
    UnfoldAdminRadioSelectWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanWidget,
)

from config.admin.conflict import ConflictForm
from webhooks.guard import LONGEST_URL
from webhooks.models import Endpoint
from webhooks.payloads import event_choices
from webhooks.signing import MAX_LENGTH, MIN_LENGTH

MAKE, OWN = "make", "own"


class SecretForm(forms.Form):
    """The form for a new secret, which is either generated or entered by the user."""

    secret_choice = forms.ChoiceField(
        label="Secret",
        choices=[(MAKE, "Generate one for me"), (OWN, "Use my own")],
        initial=MAKE,
        widget=UnfoldAdminRadioSelectWidget,
    )
    secret = forms.CharField(
        label="Own secret",
        max_length=MAX_LENGTH,
        required=False,
        strip=False,
        # If the form is rejected, Django does not render a password widget's value again.
        widget=UnfoldAdminPasswordWidget(attrs={"autocomplete": "new-password"}),
        help_text=f"Your own secret must have at least {MIN_LENGTH} ASCII characters and no spaces",
    )

    def clean(self) -> dict[str, Any]:
        """Require a secret if the user chose to enter one, and reject it otherwise."""
        given = self.cleaned_data
        own, secret = given.get("secret_choice") == OWN, given.get("secret")
        if own and not secret:
            self.add_error("secret", "Enter the secret")
        if secret and not own:
            self.add_error("secret", 'Choose "Use my own", or clear this field')
        return given

    @property
    def own_secret(self) -> str | None:
        """Return the user's own secret, or None if the service generates one."""
        given = self.cleaned_data
        return given["secret"] if given["secret_choice"] == OWN else None


class EndpointForm(ConflictForm):
    """The form that changes a webhook's configuration but not its secret."""

    class Meta:
        model = Endpoint
        fields = ("url", "events", "is_active")

    url = forms.CharField(label="URL", max_length=LONGEST_URL, widget=UnfoldAdminTextInputWidget)
    events = forms.MultipleChoiceField(
        choices=event_choices, widget=UnfoldAdminCheckboxSelectMultipleWidget
    )
    is_active = forms.BooleanField(label="Active", required=False, widget=UnfoldBooleanWidget)

    def configuration(self) -> dict[str, Any]:
        """Return the input as arguments for `services.endpoint.configure`."""
        given = self.cleaned_data
        known = {name: given[name] for name in self.Meta.fields}
        return known | {"keep_secret": True}


class NewEndpointForm(SecretForm, EndpointForm):
    """The form that sets up a webhook, including its secret. Specification: Events, 3."""

    field_order = ("url", "events", "is_active", "secret_choice", "secret")

    def configuration(self) -> dict[str, Any]:
        """Return the input as arguments for `services.endpoint.configure`."""
        return super().configuration() | {"keep_secret": False, "secret": self.own_secret}
