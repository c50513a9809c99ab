"""The admin for interface texts, with one form field for each text."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern
from unfold.widgets import UnfoldAdminTextInputWidget

from accounts.admin.scope import with_row
from chatbots.admin.scope import ChatbotFilter, OwnedByChatbot
from chatbots.models import Localization
from chatbots.models.localization import DEFAULT_LOCALE, complete
from chatbots.services.localization import copy_texts
from chatbots.texts import NAMES, shipped_texts
from chatbots.texts.groups import GROUPS
from config.admin.conflict import ConflictForm
from config.admin.dates import at
from config.admin.page import row_routes
from config.admin.post_only import post_only
from config.api.errors import ApiError
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


def missing(row: Localization) -> list[str]:
    """Return the names of the untranslated texts, which visitors see in English."""
    if row.locale_code.split("-")[0].lower() == DEFAULT_LOCALE:
        return []
    known = shipped_texts(row.locale_code).keys() | {n for n, text in row.texts.items() if text}
    return [name for name in NAMES if name not in known]


def completeness(row: Localization) -> str:
    """Return how many of the texts exist in the set's language, for example "fr 102 / 124"."""
    return f"{row.locale_code} {len(NAMES) - len(missing(row))} / {len(NAMES)}"


class LocalizationForm(TextFields, ConflictForm):  # type: ignore[misc,valid-type]
    """The form for a text set. Empty fields show the default text as a placeholder."""

    class Meta:
        model = Localization
        fields = ("chatbot", "locale_code")

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        shipped, english = complete(self.instance.locale_code, {}), complete(DEFAULT_LOCALE, {})
        lacking = set(missing(self.instance))
        for name in NAMES:
            field = self.fields[name]
            field.initial = self.instance.texts.get(name, "")
            field.help_text = f"English: {english[name]}"
            field.widget.attrs["placeholder"] = shipped[name]
            field.widget.attrs["data-text-name"] = name
            if name in lacking:
                field.widget.attrs["data-missing"] = ""

    def values_of(self, row: Any) -> dict[str, Any]:
        """Add the stored texts to the row's values."""
        return super().values_of(row) | {name: row.texts.get(name, "") for name in NAMES}

    def save(self, commit: bool = True) -> Localization:
        """Store only the texts that are not empty."""
        given = self.cleaned_data
        self.instance.texts = {name: given[name] for name in NAMES if given.get(name)}
        saved: Localization = super().save(commit)
        return saved


@admin.register(Localization)
class LocalizationAdmin(OwnedByChatbot):
    """The pages for text sets, one per locale, linked from the chatbot's page."""

    form = LocalizationForm
    list_display = ("locale_code", "chatbot", "complete", at("updated_at", "changed"))
    list_select_related = ("chatbot",)
    list_filter = (ChatbotFilter,)
    fieldsets = (
        (None, {"fields": ("chatbot", "locale_code")}),
        *((title, {"fields": names}) for title, names in GROUPS.items()),
    )
    change_form_outer_before_template = "admin/chatbots/texts_head.html"
    empty_text = "There are no text sets yet. To add one for a locale, open a chatbot."

    class Media:
        """Scripts that search and filter the texts, and tell "Try it" about unsaved changes."""

        js = ("pages/texts.js", "pages/unsaved.js")

    @admin.display(description="texts in this language")
    def complete(self, row: Localization) -> str:
        """Show how many of the texts exist in the set's language."""
        return completeness(row)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """Show how complete the bot's text sets are, and how many texts this set is missing."""
        row = self.get_object(request, object_id)
        sets = self.get_queryset(request).filter(chatbot=row.chatbot_id) if row else []
        context = {
            "locales": [(each.pk == row.pk, each.pk, completeness(each)) for each in sets],
            "missing_count": len(missing(row)) if row else 0,
        }
        shown: HttpResponse = super().change_view(
            request, object_id, form_url, {**(extra_context or {}), **context}
        )
        return shown

    def get_urls(self) -> list[URLPattern]:
        """Add the route for the button that copies a set."""
        button = row_routes(self, copy=post_only(self.copy_view))
        return [*button, *super().get_urls()]

    @with_row("change")
    def copy_view(self, request: HttpRequest, row: Localization) -> HttpResponse:
        """Copy the set's stored texts to another locale, and redirect to that locale's set.

        If the copy is rejected, report why and redirect to this set.
        """
        target, locale_code = row, request.POST.get("locale_code", "").strip()
        try:
            target = copy_texts(row, locale_code)
        except ApiError as error:
            faults = getattr(error, "errors", None) or []
            words = faults[0]["message"] if faults else error.message
            messages.error(request, f"Nothing was copied: {words}")
        else:
            words = f"The texts of {row.locale_code} were copied to {locale_code}"
            messages.success(request, words)
        return HttpResponseRedirect(self.url_of("change", target))
