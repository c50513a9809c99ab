"""The home page in a browser: charts and their tables, time spans, and the links on the cards."""

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from accounts.models import Usage
from accounts.quotas import month_of
from chatbots.models import Chatbot
from config.durations import ONE_HOUR
from tests.browser.crawl import ALL_LOOKS, DESK, HEIGHT, LOOKS, PHONE, WIDTH, Look
from tests.browser.scene import figures
from tests.factories.conversations import LeadFactory, MessageFactory, ThreadFactory
from tests.factories.webhooks import DeliveryFactory, EndpointFactory

SHOWN = LOOKS if ALL_LOOKS else (Look(PHONE, "dark"), Look(DESK, "light"))
WIDER = "tables => tables.map((table) => table.scrollWidth > table.clientWidth)"


@pytest.fixture
def busy(shop: Chatbot) -> Chatbot:
    """A shop with a month of history."""
    now = timezone.now()
    figures(shop)
    thread = ThreadFactory(chatbot=shop, escalated=True, waiting_since=now - ONE_HOUR / 4)
    MessageFactory(thread=thread)
    LeadFactory(thread=thread)
    DeliveryFactory(chatbot=shop, state="FAILED", last_code=503)
    EndpointFactory(chatbot=shop, url=f"https://shop.example/{'hook' * 20}", failing_since=now)
    Usage.objects.create(account=shop.account, month=month_of(now)[0], messages=8_214)
    return shop


def drawn(page: Page) -> int:
    """Count the charts that are not blank."""
    script = """() => [...document.querySelectorAll("canvas.chart")].filter((canvas) =>
        canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data
            .some((value) => value)).length"""
    count: int = page.evaluate(script)
    return count


@pytest.mark.slow
@pytest.mark.parametrize("look", SHOWN, ids=str)
def test_the_charts_are_drawn_and_nothing_scrolls_sideways(
    page: Page, busy: Chatbot, look: Look
) -> None:
    page.set_viewport_size({"width": look.width, "height": HEIGHT})
    page.emulate_media(color_scheme=look.scheme)
    for span in ("1h", "24h", "7d", "30d"):
        page.goto(f"/admin/?span={span}")
        page.wait_for_function("document.querySelector('canvas.chart').width > 100")
        assert drawn(page) == 2
        assert page.evaluate(WIDTH) <= look.width
        assert page.locator(".wide:visible").evaluate_all(WIDER) == [False] * 3


@pytest.mark.slow
def test_the_figures_are_reached_by_keyboard_and_lead_to_their_lists(
    page: Page, busy: Chatbot
) -> None:
    page.goto("/admin/")
    page.get_by_role("link", name="30 days").click()
    chart = page.get_by_role("img", name="Messages and AI replies, 30 days")
    expect(chart).to_be_visible()
    page.locator("summary", has_text="Table: Messages and AI replies").press("Enter")
    expect(page.get_by_role("columnheader", name="Escalations")).to_be_visible()
    expect(page.locator(".figures:visible td").first).to_have_css("text-align", "right")
    page.get_by_role("link", name="leads").last.click()
    expect(page).to_have_url("/admin/conversations/lead/?since=30d")
    page.go_back()
    page.get_by_role("link", name="deliveries failed").click()
    expect(page.get_by_role("row", name="503")).to_be_visible()
