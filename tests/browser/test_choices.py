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


@pytest.fixture
def corner(shop: Chatbot) -> Account:
    """An account that is not offered in select boxes, because many other accounts precede it."""
    bulk.copy(shop.account, OFFERED, {"name": "'A' || s.n"})
    Account.objects.filter(pk=shop.account_id).update(name="Corner shop")
    return Account.objects.get(pk=shop.account_id)


def search(page: Page, box: Locator, text: str, found: str) -> None:
    """Open a searchable select with the keyboard, search it, and choose the option `found`."""
    box.press("Enter")
    page.locator(".select2-search__field").fill(text)
    page.locator(".select2-results__option", has_text=found).click()
    expect(box).to_contain_text(found)


@pytest.mark.slow
def test_an_account_that_the_select_does_not_offer_is_found(
    device: Device, corner: Account
) -> None:
    page = device.page
    page.goto(reverse("admin:chatbots_chatbot_add"))
    box = page.get_by_role("combobox", name="Account")
    search(page, box, "corner s", "Corner shop")
    device.write(page.get_by_label("Name", exact=False), "Till")
    device.write(page.get_by_label("Description"), "pays")
    device.press(page.get_by_role("button", name="Create"))
    expect(page.get_by_label("Welcome message").first).to_be_attached()
    assert Chatbot.objects.get(name="Till").account == corner


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
    box = page.get_by_role("combobox", name="Chatbot")
    box.focus()
    page.keyboard.press("Enter")
    expect(page.locator(".select2-search__field")).to_be_focused()
    page.keyboard.type("sho")
    expect(page.locator(".select2-results__option--highlighted")).to_have_text("Shop")
    page.keyboard.press("Enter")
    expect(box).to_contain_text("Shop")
    expect(box).to_be_focused()
    device.press(page.get_by_role("button", name="Apply Filters"))
    expect(page.locator("#result_list tbody tr")).to_have_count(1)
    expect(page).to_have_url(re.compile(f"chatbot={shop.pk}"))
