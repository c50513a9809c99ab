"""Signing in to the admin in a browser."""

import re
import time
from types import SimpleNamespace

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from accounts.models import User
from tests.browser.devices import Device

PASSWORD = "correct horse battery"


@pytest.fixture(autouse=True)
def password(page: Page, person: User) -> None:
    """Set Kim's password, and sign Kim out."""
    person.set_password(PASSWORD)
    person.save()
    page.context.clear_cookies()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The rate limits' clock, which stands still until a test advances it."""
    clock = SimpleNamespace(now=time.time(), monotonic=time.monotonic, sleep=time.sleep)
    clock.time = lambda: clock.now
    monkeypatch.setattr("django_ratelimit.core.time", clock)
    return clock


def test_a_user_signs_in_and_sees_the_form_again_without_a_session(
    page: Page, person: User
) -> None:
    page.goto("/admin/login/")
    page.get_by_label("Email").fill(person.email.upper())
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("heading", name="Home")).to_be_visible()
    page.context.clear_cookies()
    page.goto(reverse("admin:conversations_thread_changelist"))
    expect(page.get_by_role("button", name="Log in")).to_be_visible()


def test_after_five_wrong_passwords_a_user_waits_and_signs_in(
    device: Device, person: User, clock: SimpleNamespace
) -> None:
    page = device.page
    page.goto("/admin/login/")
    device.write(page.get_by_label("Email"), person.email)

    def sign_in(password: str) -> None:
        device.write(page.get_by_label("Password"), password)
        device.press(page.get_by_role("button", name="Log in"))

    for _ in range(5):
        with page.expect_response(re.compile("/admin/login/")):
            sign_in("wrong")
        expect(page.get_by_text("Please enter the correct email and password")).to_be_visible()
    sign_in(PASSWORD)
    refused = page.get_by_text("Too many failed attempts. Try again in")
    [minutes] = re.findall(r"in (\d+) min", refused.inner_text())
    clock.now += int(minutes) * 60
    sign_in(PASSWORD)
    expect(page.get_by_role("heading", name="Home")).to_be_visible()
