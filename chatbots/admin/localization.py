"""The admin of interface texts, with one form field for each text."""

from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest
from unfold.widgets import UnfoldAdminTextInputWidget

from chatbots.admin.scope import ChatbotFilter, ChatbotRows
from chatbots.models import Localization
from chatbots.models.localization import complete
from chatbots.texts import NAMES
from config.admin.dates import at
from config.database.lengths import SHORT

TextFields = type(
    "TextFields",
    (forms.Form,),
    {
        name: forms.CharField(
            label=name,
            max_length=SHORT,
            required=False,
            strip=False,
            widget=UnfoldAdminTextInputWidget,
        )
        for name in NAMES
    },
)


class LocalizationForm(TextFields, forms.ModelForm):  # type: ignore[misc,type-arg,valid-type]
    """The form of a text set. An empty field shows the shipped text, which visitors get."""

    class Meta:
        model = Localization
        fields = ("chatbot", "locale_code")

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        shipped = complete(self.instance.locale_code, {})
        for name in NAMES:
            self.fields[name].initial = self.instance.texts.get(name, "")
            self.fields[name].widget.attrs["placeholder"] = shipped[name]

    def save(self, commit: bool = True) -> Localization:
        """Store only the texts that are not empty."""
        given = self.cleaned_data
        self.instance.texts = {name: given[name] for name in NAMES if given.get(name)}
        saved: Localization = super().save(commit)
        return saved


@admin.register(Localization)
class LocalizationAdmin(ChatbotRows):
    """The pages of text sets, one per locale, linked from their chatbot."""

    form = LocalizationForm
    list_display = ("locale_code", "chatbot", "changed", at("updated_at", "changed"))
    list_select_related = ("chatbot",)
    list_filter = (ChatbotFilter,)
    fieldsets = ((None, {"fields": ("chatbot", "locale_code")}), ("Texts", {"fields": NAMES}))

    @admin.display(description="custom texts")
    def changed(self, row: Localization) -> str:
        """Show how many texts have been changed for the bot."""
        return f"{len(row.texts)} / {len(NAMES)}"

    def get_readonly_fields(self, request: HttpRequest, obj: Localization | None = None) -> Any:
        """Forbid moving a set to another chatbot."""
        return ("chatbot",) if obj else ()
