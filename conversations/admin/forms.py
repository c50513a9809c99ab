"""The forms of a thread's page. The services that the API uses carry out the changes."""

from typing import Any

from django import forms
from unfold.widgets import (
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanWidget,
)

from config.database.lengths import LONG, SHORT
from conversations.models import Thread

MOST_TAGS = 100


class ReplyForm(forms.Form):
    """An agent's answer to the visitor."""

    content = forms.CharField(max_length=LONG, strip=False)
    draft = forms.UUIDField(required=False)
    form_token = forms.UUIDField(required=False)

    def clean_content(self) -> str:
        """Refuse a blank answer. Raises ValidationError."""
        content: str = self.cleaned_data["content"]
        if not content.strip():
            raise forms.ValidationError("a message must contain more than white space")
        return content


class Tags(forms.CharField):
    """Tags, typed with commas between them and stored as a list."""

    widget = UnfoldAdminTextInputWidget

    def prepare_value(self, value: Any) -> Any:
        """Join the list with commas for display."""
        return ", ".join(value) if isinstance(value, list) else value

    def to_python(self, value: Any) -> Any:
        """Split the text into tags, without duplicates."""
        tags = (tag.strip() for tag in (super().to_python(value) or "").split(","))
        return list(dict.fromkeys(tag for tag in tags if tag))

    def validate(self, value: Any) -> None:
        """Refuse too many tags and tags that are too long. Raises ValidationError."""
        if len(value) > MOST_TAGS or any(len(tag) > SHORT for tag in value):
            raise forms.ValidationError(
                f"at most {MOST_TAGS} tags of at most {SHORT} characters each"
            )

    def run_validators(self, value: Any) -> None:
        """Do nothing: `validate` checks the lengths."""

    def has_changed(self, initial: Any, data: Any) -> bool:
        """Compare the tags as lists, not as text."""
        return bool((initial or []) != self.to_python(data))


def text(label: str) -> forms.CharField:
    """Declare an optional short text field."""
    return forms.CharField(
        label=label,
        max_length=SHORT,
        required=False,
        strip=False,
        widget=UnfoldAdminTextInputWidget,
    )


def flag(label: str) -> forms.BooleanField:
    """Declare an optional switch."""
    return forms.BooleanField(label=label, required=False, widget=UnfoldBooleanWidget)


class DetailsForm(forms.Form):
    """What staff can edit about a thread and its visitor."""

    visitor_name, visitor_email = text("Name"), text("E-mail")
    visitor_phone = text("Phone")
    title = text("Title")
    tags = Tags(label="Tags", required=False, help_text="Separated by commas")
    internal_notes = forms.CharField(
        label="Notes",
        max_length=LONG,
        required=False,
        strip=False,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 4}),
        help_text="Internal, never sent",
    )
    important, archived = flag("Important"), flag("Archived")

    @classmethod
    def of(cls, thread: Thread, data: Any = None) -> "DetailsForm":
        """Make the form for a thread, with its stored values as initial ones."""
        visitor = thread.visitor
        known = {
            "visitor_name": visitor.name,
            "visitor_email": visitor.email,
            "visitor_phone": visitor.phone,
        }
        own = ("title", "tags", "internal_notes", "important", "archived")
        return cls(data, initial=known | {name: getattr(thread, name) for name in own})

    def changes(self) -> dict[str, Any]:
        """Return only the changed fields, so that a colleague's edits are not overwritten."""
        return {name: self.cleaned_data[name] for name in self.changed_data}
