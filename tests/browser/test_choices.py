"""A select box or filter with many options shows only some of them. A search finds the others."""

import re

import pytest
from django.urls import reverse
from playwright.sync_api import Locator, Page, expect

from accounts.models import Account
from chatbots.models import Chatbot
from config.admin.choices import OFFERED
from tests.browser.devices import Device
from tests.factories import bulk
from tests.factories.webhooks import DeliveryFactory


@pytest.mark.slow
def test_an_account_that_the_select_does_not_offer_is_found(device: Device, shop: Chatbot) -> None:
    page = device.page
    bulk.copy(shop.account, OFFERED, {"name": "'A' || s.n"})
    Account.objects.filter(pk=shop.account_id).update(name="Corner shop")
    page.goto(reverse("admin:chatbots_chatbot_add"))
    search(page, page.get_by_role("combobox", name="Account"), "corner s", found="Corner shop")
    device.write(page.get_by_label("Name", exact=False), "Till")
    device.write(page.get_by_label("Description"), "pays")
    device.press(page.get_by_role("button", name="Create"))
    expect(page.get_by_label("Welcome message").first).to_be_attached()
    assert Chatbot.objects.get(name="Till").account == shop.account


@pytest.mark.slow
def test_a_list_is_filtered_by_a_chatbot_that_is_not_offered(device: Device, shop: Chatbot) -> None:
    page = device.page
    bulk.copy(shop, OFFERED, {"name": "'A' || s.n"})
    DeliveryFactory(chatbot=shop, event="NEW_LEAD")
    DeliveryFactory(chatbot=Chatbot.objects.get(name="A7"), event="NEW_MESSAGE")
    page.goto(reverse("admin:webhooks_delivery_changelist"))
    expect(page.locator("#result_list tbody tr")).to_have_count(2)
    filters = page.get_by_role("button", name="Filters")
    if filters.is_visible():
        device.press(filters)
    search(page, page.get_by_role("combobox", name="Chatbot"), "sho", found="Shop")
    device.press(page.get_by_role("button", name="Apply Filters"))
    expect(page.locator("#result_list tbody tr")).to_have_count(1)
    expect(page).to_have_url(re.compile(f"chatbot={shop.pk}"))


def search(page: Page, box: Locator, text: str, *, found: str) -> None:
    """With the keyboard, open a select, search it, and choose the first option."""
    box.focus()
    page.keyboard.press("Enter")
    expect(page.locator(".select2-search__field")).to_be_focused()
    page.keyboard.type(text)
    expect(page.locator(".select2-results__option--highlighted")).to_have_text(found)
    page.keyboard.press("Enter")
    expect(box).to_contain_text(found)
    expect(box).to_be_focused()
