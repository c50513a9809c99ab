"""The form field for long text."""

from typing import Any

from django import forms


class TextLines(forms.CharField):
    """Text with LF line breaks, as in the API, although browsers submit CRLF."""

    def to_python(self, value: Any) -> str | None:
        """Return the text with LF line breaks."""
        text = super().to_python(value)
        return text.replace("\r\n", "\n") if text else text

    def has_changed(self, initial: Any, data: Any) -> bool:
        """Ignore the difference between LF and CRLF line breaks."""
        return bool(super().has_changed(self.to_python(initial), self.to_python(data)))
