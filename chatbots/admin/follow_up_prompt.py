"""The form of a follow-up prompt: a button or a link, validated as in the API."""

from typing import Any

from django import forms

from chatbots.models import FollowUpPrompt
from chatbots.models.follow_up_prompt import BUTTON, LINK, one_pair
from config.api.errors import Refused


class FollowUpForm(forms.ModelForm):  # type: ignore[type-arg]  # generic only in the stubs
    """Accepts either a complete button or a complete link."""

    class Meta:
        model = FollowUpPrompt
        fields = ("rank", *BUTTON, *LINK, "esclate")

    def clean(self) -> dict[str, Any]:
        """Require exactly one complete pair. Raises ValidationError."""
        given = self.cleaned_data
        if not self.errors:
            try:
                given |= one_pair(given)
            except Refused as refusal:
                raise forms.ValidationError(refusal.message) from None
        return given
