"""Helpers for tests in which the session ends while a form is open."""

from playwright.sync_api import Page

from accounts.models import User
from tests.browser.devices import Device

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
