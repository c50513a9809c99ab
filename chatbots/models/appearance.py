"""How a bot looks. Specification: Resources, Appearance. Open point: appearance-values."""

from typing import Any

from django.core.validators import RegexValidator
from django.db import models

from chatbots.models.base import ChatbotSettings, flag, long_text, text, whole

COLOR_FORM = r"#(?:[0-9a-fA-F]{3}){1,2}"
COLOR = RegexValidator(rf"^{COLOR_FORM}\Z", "enter a color such as #1a2b3c")


def color(default: str, *, label: str) -> Any:
    """Declare a column for a color in the form #rrggbb or #rgb."""
    return models.CharField(label, max_length=7, default=default, validators=[COLOR])


class Appearance(ChatbotSettings):
    """A chatbot's appearance. Each chatbot has at most one row."""

    tooltip = text()
    welcome_message = long_text()
    input_placeholder_text = text()
    external_link = text()
    brand_primary_color = color("#2563eb", label="brand primary color")
    brand_text_color = color("#ffffff", label="brand text color")
    brand_icon_bg_color = color("#2563eb", label="brand icon background")
    link_color = color("#1d4ed8", label="link color")
    show_background = flag(True)
    watermark_brand_info_show = flag(label="show the watermark")
    hide_watermark_service = flag(label="hide the service's watermark")
    right_to_left_mode = flag()
    enable_dark_mode = flag()
    font_size = whole(14)
    chat_height = whole(600)
    icon_size = text("medium")
    icon_position = text("right")
    default_mode = text("closed")
    icon_shape = text("circle")
    watermark_brand_icon = text()
    watermark_brand_text = text()
    watermark_brand_link = text()
    distance_from_bottom_desktop = whole(20, label="distance from the bottom (desktop)")
    horizontal_distance_desktop = whole(20, label="horizontal distance (desktop)")
    distance_from_bottom_mobile = whole(16, label="distance from the bottom (mobile)")
    horizontal_distance_mobile = whole(16, label="horizontal distance (mobile)")
    bot_icon_src = text(label="bot icon URL")
    user_icon_src = text(label="user icon URL")
    agent_icon_src = text(label="agent icon URL")
    bubble_icon_src = text(label="bubble icon URL")
    font_family = models.JSONField(default=dict, blank=True)

    class Meta:
        verbose_name_plural = "appearances"
