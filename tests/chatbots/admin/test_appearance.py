"""The appearance form accepts everything that the API accepts, and suggests common values."""

import pytest
from django.urls import reverse

from chatbots.admin.appearance import COLORS, FIELDSETS
from chatbots.models import Appearance, Chatbot
from tests.factories.staff import signed_in, superuser
from tests.pages import submit


def test_the_form_has_every_setting_once() -> None:
    shown = [name for _, options in FIELDSETS for name in options["fields"]]
    assert sorted(shown) == sorted([*Appearance.own_fields(), "seen_at"])
    assert len(COLORS) == 4


@pytest.mark.parametrize(
    ("text", "expected"),
    [('{"heading": "Inter"}', {"heading": "Inter"}), ("{}", {}), ("", {}), ("null", {})],
)
def test_the_font_family_is_an_object(chatbot: Chatbot, text: str, expected: object) -> None:
    address = reverse("admin:chatbots_chatbot_change", args=[chatbot.pk])
    answer = submit(signed_in(superuser()), address, **{"appearance-0-font_family": text})
    assert answer.status_code == 302
    chatbot.appearance.refresh_from_db()
    assert chatbot.appearance.font_family == expected
