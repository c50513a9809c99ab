"""Lists and forms at the width of a phone."""

import pytest
from django.urls import reverse
from playwright.sync_api import Locator, Page, expect

from accounts.models import User
from chatbots.models import Chatbot
from tests.browser.crawl import PHONE

LABEL_CASE = "cell => getComputedStyle(cell, '::before').textTransform"


@pytest.fixture
def phone(page: Page) -> Page:
    page.set_viewport_size({"width": PHONE, "height": 900})
    return page


def top(control: Locator) -> float:
    box = control.bounding_box()
    assert box
    return box["y"]


def test_save_is_the_first_button_below_a_form_and_delete_the_last(
    phone: Page, shop: Chatbot
) -> None:
    phone.goto(reverse("admin:chatbots_chatbot_change", args=[shop.pk]))
    row = phone.locator("#submit-row")
    names = ["Save", "Save and continue editing", "Save and add another", "Delete chatbot"]
    controls = [row.get_by_text(name, exact=True) for name in names]
    tops = [top(control) for control in controls]
    assert tops == sorted(set(tops))  # each control is below the previous one


def test_only_the_first_word_of_a_label_in_a_list_is_capitalized(phone: Page, person: User) -> None:
    phone.goto(reverse("admin:accounts_user_changelist"))
    cell = phone.locator("#result_list .field-is_staff").first
    expect(cell).to_have_attribute("data-label", "May use the admin")
    assert cell.evaluate(LABEL_CASE) == "none"
