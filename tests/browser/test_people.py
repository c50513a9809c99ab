"""A colleague gets in: an invitation leads to a first answer, and a forgotten password is reset."""

import re
from collections.abc import Iterator

import pytest
from django.conf import settings
from django.urls import reverse
from playwright.sync_api import Browser, Page, expect

from accounts.models import Mail, User
from chatbots.models import Chatbot
from conversations.models import Message, Thread
from tests.browser.conftest import PASSWORD, PATIENCE, WAYS, Opens
from tests.browser.devices import Device
from tests.factories.accounts import MembershipFactory

NEW = "another staple 7"


@pytest.fixture
def visitor_page(browser: Browser, live_server: object) -> Iterator[Page]:
    """A window without a session."""
    context = browser.new_context(base_url=str(live_server))
    context.set_default_timeout(PATIENCE)
    yield context.new_page()
    context.close()


@pytest.fixture(params=WAYS, ids=lambda way: f"{way[0].__name__.lower()}-{way[1]}")
def newcomer(visitor_page: Page, request: pytest.FixtureRequest) -> Device:
    kind, look = request.param
    device: Device = kind(visitor_page, look)
    return device


def test_an_invited_person_answers_a_visitor_without_a_superuser(
    newcomer: Device, opens: Opens, shop: Chatbot, thread: Thread
) -> None:
    page = opens(shop.account.owner)
    owner = newcomer.on(page)
    page.goto(reverse("admin:accounts_user_changelist"))
    owner.press(page.locator("#content").get_by_role("link", name="Invite", exact=True))
    owner.write(page.get_by_label("Email"), "ann@example.com")
    owner.choose(page.get_by_label("Role"), "SUPER_ADMIN")
    owner.press(page.get_by_role("button", name="Save", exact=True))
    expect(page.get_by_text("The invitation was sent to ann@example.com.")).to_be_visible()
    link = page.locator("#invitation-link").inner_text().removeprefix(settings.PUBLIC_URL)

    page = newcomer.page
    page.goto(link)
    assert "token" not in page.url
    newcomer.write(page.get_by_label("Name"), "Ann")
    newcomer.write(page.get_by_label("New password", exact=False).first, PASSWORD)
    newcomer.write(page.get_by_label("New password confirmation"), PASSWORD)
    newcomer.press(page.get_by_role("button", name="Accept"))
    expect(page.get_by_text("You are now a member of")).to_be_visible()
    page.goto(reverse("admin:conversations_thread_change", args=[thread.pk]))
    newcomer.write(page.locator("#reply-text"), "Let me look")
    send = re.compile(r"^Send( and take over)?$")
    newcomer.press(page.locator("#reply").get_by_role("button", name=send))
    expect(page.get_by_text("Let me look").first).to_be_visible()
    answer = Message.objects.get(content="Let me look")
    assert User.objects.get(email="ann@example.com").name == "Ann"
    assert answer.thread == thread


def test_a_forgotten_password_is_set_with_the_emailed_link(
    newcomer: Device, transactional_db: None
) -> None:
    user, page = MembershipFactory().user, newcomer.page
    page.goto("/admin/")
    newcomer.press(page.get_by_role("link", name="Forgot password?"))
    newcomer.write(page.get_by_label("Email"), user.email)
    newcomer.press(page.get_by_role("button", name="Send the link"))
    expect(page.get_by_role("heading", name="Check your inbox")).to_be_visible()
    page.goto(Mail.objects.get(to=user.email).text.split()[-1].removeprefix(settings.PUBLIC_URL))
    newcomer.write(page.get_by_label("New password", exact=False).first, NEW)
    newcomer.write(page.get_by_label("New password confirmation"), NEW)
    newcomer.press(page.get_by_role("button", name="Set the password"))
    newcomer.press(page.get_by_role("link", name="Log in"))
    newcomer.write(page.get_by_label("Email"), user.email)
    newcomer.write(page.get_by_label("Password"), NEW)
    newcomer.press(page.get_by_role("button", name="Log in"))
    expect(page.get_by_role("heading", name="Home")).to_be_visible()
