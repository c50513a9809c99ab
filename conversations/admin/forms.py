"""The forms of a thread's page. What they say is done by the services, as for the API."""

from typing import Any

from django import forms
from unfold.widgets import (
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanWidget,
)

from config.database.row import LONG, SHORT
from conversations.models import Thread

MOST_TAGS = 100


class ReplyForm(forms.Form):
    """An answer to the visitor."""

    content = forms.CharField(max_length=LONG, strip=False)
    draft = forms.UUIDField(required=False)
    form_token = forms.UUIDField(required=False)

    def clean_content(self) -> str:
        """Refuse white space alone."""
        content: str = self.cleaned_data["content"]
        if not content.strip():
            raise forms.ValidationError("a message must hold more than white space")
        return content


class Tags(forms.CharField):
    """Tags, separated by commas; kept as a list."""

    widget = UnfoldAdminTextInputWidget

    def prepare_value(self, value: Any) -> Any:
        """Write a list with commas."""
        return ", ".join(value) if isinstance(value, list) else value

    def to_python(self, value: Any) -> Any:
        """Read the list; a tag stands once."""
        tags = (tag.strip() for tag in (super().to_python(value) or "").split(","))
        return list(dict.fromkeys(tag for tag in tags if tag))

    def validate(self, value: Any) -> None:
        """Refuse too many, and too long ones. Raises ValidationError."""
        if len(value) > MOST_TAGS or any(len(tag) > SHORT for tag in value):
            raise forms.ValidationError(
                f"at most {MOST_TAGS} tags of at most {SHORT} characters each"
            )

    def run_validators(self, value: Any) -> None:
        """Leave lengths to `validate`."""

    def has_changed(self, initial: Any, data: Any) -> bool:
        """Compare lists."""
        return bool((initial or []) != self.to_python(data))


def text(label: str) -> forms.CharField:
    """Declare a short text that may be empty."""
    return forms.CharField(
        label=label,
        max_length=SHORT,
        required=False,
        strip=False,
        widget=UnfoldAdminTextInputWidget,
    )


def flag(label: str) -> forms.BooleanField:
    """Declare a switch."""
    return forms.BooleanField(label=label, required=False, widget=UnfoldBooleanWidget)


class DetailsForm(forms.Form):
    """What staff know of a thread and its visitor."""

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
        """Make the form of a thread."""
        visitor = thread.visitor
        known = {
            "visitor_name": visitor.name,
            "visitor_email": visitor.email,
            "visitor_phone": visitor.phone,
        }
        own = ("title", "tags", "internal_notes", "important", "archived")
        return cls(data, initial=known | {name: getattr(thread, name) for name in own})

    def changes(self) -> dict[str, Any]:
        """Pick what was changed: what was not must not be written over a colleague's words."""
        return {name: self.cleaned_data[name] for name in self.changed_data}
