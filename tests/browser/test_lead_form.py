"""Extra fields of the lead form: how their rows are added, filled in, ordered and removed."""

from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import Locator, Page, expect

from chatbots.models import Chatbot, LeadSettings
from tests.browser.devices import Device
from tests.factories.chatbots import LeadSettingsFactory


def field(label: str, **other: Any) -> dict[str, Any]:
    """Return a field as it is stored."""
    return {
        "display_label": label,
        "field_name": label.lower(),
        "field_type": "text",
        "required": False,
        "placeholder_text": "",
        "options": "",
    } | other


CITY, SIZE, WHY = field("City", required=True), field("Size", options="reserved"), field("Why")


def open_form(page: Page, shop: Chatbot) -> None:
    page.goto(f"{reverse('admin:chatbots_chatbot_change', args=[shop.pk])}#leadsettings")
    expect(page.locator("#lead-form")).to_be_visible()


def row(page: Page, label: str) -> Locator:
    return page.get_by_role("group", name=f"Field {label}", exact=True)


def shown(page: Page) -> list[str]:
    """Return the labels of the rows, in their order on the page."""
    return [each.input_value() for each in page.locator(".lead-field").get_by_label("Label").all()]


def previewed(page: Page) -> list[str]:
    """Return the names of the extra fields in the preview."""
    names = page.get_by_role("complementary", name="Preview of the form").locator("label.name")
    return names.all_inner_texts()[3:]  # skips name, email and phone


def stored() -> Any:
    return LeadSettings.objects.get().customer_form_field


def save(page: Page, press: Any, shop: Chatbot) -> None:
    """Save, and open the form again."""
    press(page.get_by_role("button", name="Save", exact=True))
    expect(page.get_by_text("was changed successfully")).to_be_visible()
    open_form(page, shop)


def test_fields_are_added_filled_and_saved_in_their_order(device: Device, shop: Chatbot) -> None:
    LeadSettingsFactory(chatbot=shop)
    page = device.page
    open_form(page, shop)
    add = page.get_by_role("button", name="Add a field")
    for _ in range(2):  # add both fields before either has a label
        device.press(add)
    second = page.locator(".lead-field").nth(1)
    device.write(page.locator(".lead-field").first.get_by_label("Label"), "Größe")
    device.write(second.get_by_label("Label"), "Email of your friend")
    expect(second.get_by_label("Key", exact=True)).to_have_value("email_of_your_friend")
    device.choose(second.get_by_label("Type"), "Email")
    device.check(second.get_by_label("Required"))
    device.write(second.get_by_label("Placeholder"), "<b>@</b>")
    assert previewed(page) == ["Größe", "Email of your friend *"]
    save(page, device.press, shop)
    assert stored() == [
        field("Größe", field_name="gro_e"),
        field(
            "Email of your friend",
            field_name="email_of_your_friend",
            field_type="email",
            required=True,
            placeholder_text="<b>@</b>",
        ),
    ]
    assert shown(page) == ["Größe", "Email of your friend"]


@pytest.mark.slow
def test_fields_are_ordered_with_alt_and_an_arrow_or_buttons_and_removed(
    device: Device, shop: Chatbot
) -> None:
    LeadSettingsFactory(chatbot=shop, customer_form_field=[CITY, SIZE, WHY])
    page = device.page
    open_form(page, shop)
    placeholder = row(page, "City").get_by_label("Placeholder")
    device.write(placeholder, "Berlin")
    for key, order in (
        ("Alt+ArrowUp", ["City", "Size", "Why"]),  # already the first
        ("Alt+ArrowDown", ["Size", "City", "Why"]),
    ):
        page.keyboard.press(key)
        assert shown(page) == order
        expect(placeholder).to_be_focused()
    expect(page.get_by_text("Moved to place 2 of 3. Save to keep the order.")).to_be_visible()
    down = row(page, "City").get_by_role("button", name="Down")
    device.press(down)
    assert shown(page) == ["Size", "Why", "City"]
    expect(down).to_be_focused()
    device.press(row(page, "Why").get_by_role("button", name="Remove"))
    assert previewed(page) == ["Size", "City *"]
    save(page, device.press, shop)
    assert stored() == [SIZE, CITY | {"placeholder_text": "Berlin"}]
    assert shown(page) == ["Size", "City"]
