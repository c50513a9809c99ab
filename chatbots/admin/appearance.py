"""The form for a chatbot's appearance. Some of its text fields suggest values."""

from typing import Any

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from unfold.widgets import UnfoldAdminTextareaWidget, UnfoldAdminTextInputWidget

from accounts.admin.json_field import validated
from chatbots.models import Appearance
from chatbots.models.appearance import COLOR
from config.admin.conflict import SEEN, ConflictForm
from config.api.fields import Json

# The API accepts any text in these fields (open point: appearance-values), so the form suggests
# values but does not require them.
SUGGESTED = {
    "icon_size": ("small", "medium", "large"),
    "icon_position": ("left", "right"),
    "default_mode": ("closed", "open"),
    "icon_shape": ("circle", "square"),
}
COLORS = tuple(
    field.name
    for field in Appearance._meta.concrete_fields
    if COLOR in getattr(field, "validators", ())
)
FIELDSETS = (
    (None, {"fields": ("welcome_message", "input_placeholder_text", "tooltip", "external_link")}),
    ("Colors", {"fields": (*COLORS, "show_background", "enable_dark_mode")}),
    ("Window", {"fields": ("default_mode", "chat_height", "font_size", "right_to_left_mode")}),
    ("Bubble", {"fields": ("icon_size", "icon_shape", "icon_position", "bubble_icon_src")}),
    (
        "Distances",
        {
            "fields": (
                "distance_from_bottom_desktop",
                "horizontal_distance_desktop",
                "distance_from_bottom_mobile",
                "horizontal_distance_mobile",
            )
        },
    ),
    ("Icons", {"fields": ("bot_icon_src", "user_icon_src", "agent_icon_src")}),
    (
        "Watermark",
        {
            "fields": (
                "watermark_brand_info_show",
                "hide_watermark_service",
                "watermark_brand_icon",
                "watermark_brand_text",
                "watermark_brand_link",
            )
        },
    ),
    ("Fonts", {"fields": ("font_family", SEEN)}),
)


class SuggestingInput(UnfoldAdminTextInputWidget):
    """A text input that suggests values but accepts any text."""

    def __init__(self, suggested: tuple[str, ...]) -> None:
        super().__init__()
        self.suggested = suggested

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:
        """Render the input with its list of suggestions."""
        key = f"{(attrs or {}).get('id', name)}-suggested"
        field = super().render(name, value, {**(attrs or {}), "list": key}, renderer)
        options = format_html_join("", '<option value="{}">', ((each,) for each in self.suggested))
        return format_html('{}<datalist id="{}">{}</datalist>', field, key, options)


class AppearanceForm(ConflictForm):
    """Validates an appearance against its model's rules."""

    class Meta:
        model = Appearance
        fields = tuple(Appearance.own_fields())
        widgets = {
            **{name: SuggestingInput(suggested) for name, suggested in SUGGESTED.items()},
            **{
                name: UnfoldAdminTextInputWidget(attrs={"data-color": "", "maxlength": 7})
                for name in COLORS
            },
            "welcome_message": UnfoldAdminTextareaWidget(attrs={"rows": 3}),
        }

    def clean_font_family(self) -> dict[str, Any]:
        """Require an object, as the API does. Empty text and null become an empty object."""
        family: Any = self.cleaned_data["font_family"]
        found: dict[str, Any] = validated(Json(), {} if family is None else family)
        return found
