"""The form field of a long text."""

from typing import Any

from django import forms


class TextLines(forms.CharField):
    """A text with the line breaks of the API, LF: browsers send CRLF from a form."""

    def to_python(self, value: Any) -> str | None:
        """Return the text with LF line breaks."""
        text = super().to_python(value)
        return text.replace("\r\n", "\n") if text else text

    def has_changed(self, initial: Any, data: Any) -> bool:
        """Compare the texts regardless of their line breaks."""
        return bool(super().has_changed(self.to_python(initial), self.to_python(data)))
