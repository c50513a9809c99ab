"""Long selects are searchable: every row that the form accepts can be found by its name."""

import pytest
from django.urls import reverse
from playwright.sync_api import Locator, Page, expect

from accounts.models import Account, User
from chatbots.models import Chatbot, ChatbotMember
from config.admin.choices import OFFERED
from tests.bench import bulk
from tests.browser.devices import Device


@pytest.fixture
def corner(shop: Chatbot) -> Account:
    """The last of many accounts, beyond those that a select offers."""
    bulk.copy(shop.account, OFFERED, {"name": "'A' || s.n"})
    Account.objects.filter(pk=shop.account_id).update(name="Corner shop")
    return Account.objects.get(pk=shop.account_id)


def search(page: Page, box: Locator, text: str, found: str) -> None:
    """Open a searchable select with the keyboard, type a text, and choose what is found."""
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
def test_a_person_who_is_not_offered_becomes_a_member(page: Page, shop: Chatbot) -> None:
    bulk.copy(shop.account.owner, OFFERED, {"email": "'zz' || (1000 + s.n) || '@example.com'"})
    last = User.objects.latest("email")
    page.goto(f"{reverse('admin:chatbots_chatbot_change', args=[shop.pk])}#memberships")
    page.get_by_text("Add another Chatbot member").click()
    search(page, page.locator("#memberships-data .select2-selection"), last.email, last.email)
    page.locator("input[name=memberships-0-role]").fill("agent")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("was changed successfully")).to_be_visible()
    assert ChatbotMember.objects.get(chatbot=shop).user == last
