"""The form for a follow-up prompt, which is a button or a link. Applies the API's rules."""

from typing import Any

from django import forms
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextareaWidget

from chatbots.models import FollowUpPrompt
from chatbots.models.follow_up_prompt import BUTTON, LINK, one_pair
from config.admin.conflict import ConflictForm
from config.api.errors import Refused


class TypeField(forms.ChoiceField):
    """The type of a prompt. It is not stored, because it follows from which fields are set."""

    widget = UnfoldAdminSelectWidget

    def has_changed(self, initial: Any, data: Any) -> bool:
        """Return False, because the type is not stored: it only tells a script what to show."""
        return False


class FollowUpForm(ConflictForm):
    """Accepts either a complete button or a complete link."""

    kind = TypeField(label="type", choices=[("button", "Button"), ("link", "Link")], required=False)

    class Meta:
        model = FollowUpPrompt
        fields = ("rank", *BUTTON, *LINK, "esclate")
        labels = {"rank": "order", "link_src": "link address", "esclate": "escalates"}
        widgets = {"button_message": UnfoldAdminTextareaWidget(attrs={"rows": 2})}

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.initial["kind"] = "link" if self.instance.link_text else "button"

    def clean(self) -> dict[str, Any]:
        """Require a complete button or a complete link, but not both. Raises ValidationError."""
        super().clean()
        given: dict[str, Any] = self.cleaned_data
        if not self.errors:
            try:
                given |= one_pair(given)
            except Refused as refusal:
                raise forms.ValidationError(refusal.message) from None
        return given
