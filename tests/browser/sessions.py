"""Helpers for tests in which the session ends while a form is open."""

from playwright.sync_api import Page, expect

from accounts.models import User
from tests.browser.crawl import DESK, Look
from tests.browser.devices import Device, Mouse

PASSWORD = "correct horse battery"


def end_session(page: Page) -> None:
    page.context.clear_cookies(name="sessionid")


def sign_in(device: Device, person: User) -> None:
    """Sign in on the page that appears because the session has ended."""
    page = device.page
    person.set_password(PASSWORD)
    person.save()
    device.write(page.get_by_label("Email"), person.email)
    device.write(page.get_by_label("Password"), PASSWORD)
    device.press(page.get_by_role("button", name="Log in"))


def submit_without_session(page: Page, person: User, button: str) -> None:
    """Submit a form after the session has ended, and sign in again."""
    end_session(page)
    page.get_by_role("button", name=button, exact=True).click()
    sign_in(Mouse(page, Look(DESK, "light")), person)
    expect(page.get_by_text("This was not saved")).to_be_visible()
