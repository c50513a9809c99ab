"""The forms for replying in a thread and for editing its tags and details."""

from typing import Any

from django import forms
from unfold.widgets import (
    UnfoldAdminRadioSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanWidget,
)

from config.database.lengths import LONG, SHORT
from conversations.models import Thread


class ReplyForm(forms.Form):
    """An agent's answer to the visitor."""

    content = forms.CharField(max_length=LONG, strip=False)
    draft = forms.UUIDField(required=False)
    form_token = forms.UUIDField(required=False)
    newest_seen = forms.UUIDField(required=False)

    def clean_content(self) -> str:
        """Reject a blank answer. Raises ValidationError."""
        content: str = self.cleaned_data["content"]
        if not content.strip():
            raise forms.ValidationError("a message must contain more than white space")
        return content


class TagForm(forms.Form):
    """A tag to add to a thread or to remove from it, with the API's length limit."""

    tag = forms.CharField(max_length=SHORT, widget=UnfoldAdminTextInputWidget)


class TagsForm(TagForm):
    """A tag to add to several threads or to remove from them."""

    HOW = (("add", "Add the tag"), ("remove", "Remove the tag"))

    how = forms.ChoiceField(
        choices=HOW, initial="add", label="Change", widget=UnfoldAdminRadioSelectWidget
    )


def text(label: str) -> forms.CharField:
    """Declare an optional short text field."""
    return forms.CharField(
        label=label,
        max_length=SHORT,
        required=False,
        strip=False,
        show_hidden_initial=True,
        widget=UnfoldAdminTextInputWidget,
    )


def flag(label: str) -> forms.BooleanField:
    """Declare an optional switch."""
    return forms.BooleanField(
        label=label, required=False, show_hidden_initial=True, widget=UnfoldBooleanWidget
    )


class DetailsForm(forms.Form):
    """The fields of a thread and its visitor that staff can edit.

    Hidden fields contain the values that the page was rendered with. A field counts as changed only
    if it differs from its hidden field, so saving the form does not overwrite what a colleague has
    changed in other fields in the meantime.
    """

    visitor_name, visitor_email = text("Name"), text("Email")
    visitor_phone = text("Phone")
    title = text("Title")
    internal_notes = forms.CharField(
        label="Notes",
        max_length=LONG,
        required=False,
        strip=False,
        show_hidden_initial=True,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 4, "data-key": "n"}),
        help_text="Internal, never sent",
    )
    important, archived = flag("Important"), flag("Archived")

    @classmethod
    def of(cls, thread: Thread, data: Any = None) -> "DetailsForm":
        """Build the form for a thread from its stored values."""
        visitor = thread.visitor
        known = {
            "visitor_name": visitor.name,
            "visitor_email": visitor.email,
            "visitor_phone": visitor.phone,
        }
        own = ("title", "internal_notes", "important", "archived")
        return cls(data, initial=known | {name: getattr(thread, name) for name in own})

    def changes(self) -> dict[str, Any]:
        """Return only the fields that the user has changed."""
        return {name: self.cleaned_data[name] for name in self.changed_data}
