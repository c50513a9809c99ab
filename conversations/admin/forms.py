"""The forms for replying in a thread and for editing its tags and details."""

from collections.abc import Iterable
from typing import Any

from django import forms
from unfold.widgets import (
    UnfoldAdminRadioSelectWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanWidget,
)

from accounts.models import User
from config.admin.conflict import conflict_error
from config.admin.lines import TextLines
from config.database.lengths import LONG, SHORT
from conversations.models import Thread


class ReplyForm(forms.Form):
    """An agent's answer to the visitor."""

    content = TextLines(max_length=LONG, strip=False)
    draft = forms.UUIDField(required=False)
    form_token = forms.UUIDField(required=False)
    newest_seen = forms.UUIDField(required=False)

    def clean_content(self) -> str:
        """Reject a blank answer. Raises ValidationError."""
        content: str = self.cleaned_data["content"]
        if not content.strip():
            raise forms.ValidationError("a message must contain more than white space")
        return content


class NoteForm(forms.Form):
    """An internal note."""

    text = TextLines(max_length=LONG)


class TagForm(forms.Form):
    """A tag to add to or remove from a thread. The API's length limit applies."""

    tag = forms.CharField(max_length=SHORT, widget=UnfoldAdminTextInputWidget)


class TagsForm(TagForm):
    """A tag to add to or remove from several threads."""

    HOW = (("add", "Add the tag"), ("remove", "Remove the tag"))

    how = forms.ChoiceField(
        choices=HOW, initial="add", label="Change", widget=UnfoldAdminRadioSelectWidget
    )


class AssignForm(forms.Form):
    """The person to assign selected conversations to."""

    assignee = forms.ChoiceField(label="Assign to", required=False, widget=UnfoldAdminSelectWidget)

    def __init__(self, people: Iterable[User], *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.people = {str(one.pk): one for one in people}
        names = [(key, one.get_full_name()) for key, one in self.people.items()]
        self.fields["assignee"].choices = [("", "Nobody"), *names]  # type: ignore[attr-defined]

    def clean_assignee(self) -> User | None:
        """Return the person, or None for nobody."""
        return self.people.get(self.cleaned_data["assignee"])


def text(label: str) -> forms.CharField:
    """Declare an optional short text field."""
    return forms.CharField(
        label=label,
        max_length=SHORT,
        required=False,
        strip=False,
        show_hidden_initial=True,
        widget=UnfoldAdminTextInputWidget(attrs={"dir": "auto"}),
    )


def flag(label: str) -> forms.BooleanField:
    """Declare an optional checkbox."""
    return forms.BooleanField(
        label=label, required=False, show_hidden_initial=True, widget=UnfoldBooleanWidget
    )


class DetailsForm(forms.Form):
    """The fields of a thread and its visitor that staff can edit.

    Hidden fields contain the values that the page was rendered with. A field counts as changed only
    if it differs from its hidden field. Saving the form therefore keeps a colleague's changes to
    other fields. If the user and a colleague have changed the same text, the first save shows the
    colleague's text in an error message, and a second save replaces it.
    """

    visitor_name, visitor_email = text("Name"), text("Email")
    visitor_phone = text("Phone")
    title = text("Title")
    internal_notes = TextLines(
        label="Notes",
        max_length=LONG,
        required=False,
        strip=False,
        show_hidden_initial=True,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 4, "dir": "auto"}),
        help_text="Internal, never sent to the visitor",
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

    def clean(self) -> dict[str, Any]:
        """Report changed fields that someone else has also changed since the page was rendered."""
        given, data = self.cleaned_data, self.data.copy()  # type: ignore[attr-defined]  # QueryDict
        for name in self.changed_data:
            stored, seen = self.initial[name], f"initial-{name}"
            differs = self.fields[name].has_changed
            if differs(stored, data.get(seen, stored)) and differs(stored, given.get(name, stored)):
                data[seen] = stored  # so that saving again replaces this value
                self.add_error(name, conflict_error(stored))
        self.data = data
        return given

    def changes(self) -> dict[str, Any]:
        """Return only the fields that the user has changed."""
        return {name: self.cleaned_data[name] for name in self.changed_data}
