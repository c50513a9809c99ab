"""Numbers have thousands separators where people read them, and nowhere else."""

import json
import re
from datetime import datetime
from html.parser import HTMLParser

import pytest
from django.template.loader import render_to_string
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import Plan, Usage
from accounts.quotas import month_of
from chatbots.models import Chatbot
from config.durations import ONE_DAY, ONE_HOUR
from conversations.models import Activity, Message, TokenUsage, Visitor
from conversations.models.activity import DAY, HOUR
from tests.admin_urls import pages
from tests.factories.staff import signed_in, superuser
from tests.factories.tenant import Tenant
from webhooks.admin.hours import Bars, Hour
from webhooks.models import Attempt, Delivery, Endpoint
from webhooks.models.retry_job import RetryJob, RetryPart

FIGURE = 7_654_321
PLAIN, GROUPED = str(FIGURE), f"{FIGURE:,}"
SEPARATED = re.compile(r'=\s*"[^"]*\b\d{1,3},\d{3}\b[^"]*"')  # a number with commas in an attribute
SPOKEN = re.compile(r' (?:aria-label|title)="[^"]*"')


class Texts(HTMLParser):
    """Collects the visible text of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.hidden = ""

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag in ("script", "style", "textarea"):
            self.hidden = tag

    def handle_endtag(self, tag: str) -> None:
        if tag == self.hidden:
            self.hidden = ""

    def handle_data(self, data: str) -> None:
        if not self.hidden:
            self.texts.append(data)


def count_activity(chatbot: Chatbot, now: datetime) -> None:
    """Store activity counts of FIGURE for one recent hour and one recent day."""
    for hours, begins in ((HOUR, now - 4 * ONE_HOUR), (DAY, now - 3 * ONE_DAY)):
        hour = begins.replace(minute=0, second=0, microsecond=0)
        Activity.objects.create(
            chatbot=chatbot,
            hours=hours,
            begins_at=hour if hours == HOUR else hour.replace(hour=0),
            messages=FIGURE,
            success=FIGURE,
            failed=FIGURE,
        )


@pytest.fixture
def tenant(db: None) -> Tenant:
    """A tenant whose pages show large numbers: FIGURE itself, or sums that include it."""
    tenant, now = Tenant("zebra"), timezone.now()
    Plan.objects.update(
        messages_per_minute=FIGURE,
        ai_replies_per_minute=FIGURE,
        monthly_messages=FIGURE,
        max_chatbots=FIGURE,
    )
    account = tenant.chatbot.account
    Usage.objects.update_or_create(
        account=account, month=month_of(now)[0], defaults={"messages": FIGURE}
    )
    Visitor.objects.update(total_sessions=FIGURE, total_messages=FIGURE)
    Delivery.objects.update(state="FAILED", last_code=503, last_ms=FIGURE, due_at=None)
    Attempt.objects.update(
        response_code=503, response_ms=FIGURE, finished_at=now, response_headers={}
    )
    Endpoint.objects.update(failing_since=now, failures_in_a_row=FIGURE)
    Message.objects.update(message_type="AI_MESSAGE", reply_ms=FIGURE)
    RetryJob.objects.update(expected=FIGURE)
    RetryPart.objects.update(retried=FIGURE)
    TokenUsage.objects.create(
        chatbot=tenant.chatbot,
        model_id=tenant.chatbot.pk,
        day=now.date(),
        replies=FIGURE,
        input_tokens=FIGURE,
        output_tokens=FIGURE,
    )
    count_activity(tenant.chatbot, now)
    return tenant


@pytest.fixture
def client(tenant: Tenant) -> Client:
    return signed_in(superuser())


def shown(client: Client, address: str) -> str:
    parser = Texts()
    parser.feed(client.get(address).text)
    return " ".join(parser.texts)


@pytest.mark.slow
def test_no_page_shows_a_figure_without_separators(client: Client, tenant: Tenant) -> None:
    found = [address for address in pages(client, tenant) if address.startswith("/admin/")]
    read = {address: shown(client, address) for address in [*found, "/admin/?span=7d"]}
    assert [address for address, text in read.items() if PLAIN in text] == []
    with_figures = {address for address, text in read.items() if GROUPED in text}
    bot, account = tenant.chatbot, tenant.chatbot.account
    assert with_figures >= {
        "/admin/",
        "/admin/?span=7d",
        reverse("admin:accounts_usage_changelist"),
        reverse("admin:accounts_plan_changelist"),
        reverse("admin:accounts_account_change", args=[account.pk]),
        reverse("admin:conversations_visitor_changelist"),
        reverse("admin:webhooks_delivery_changelist"),
        reverse("admin:webhooks_endpoint_of", args=[bot.pk]),
    }


def test_the_pages_of_a_conversation_and_its_delivery_group_digits(
    client: Client, tenant: Tenant
) -> None:
    message, attempt = Message.objects.latest("pk"), Attempt.objects.latest("pk")
    thread = reverse("admin:conversations_thread_change", args=[message.thread_id])
    delivery = reverse("admin:webhooks_delivery_change", args=[attempt.delivery_id])
    visitor = reverse("admin:conversations_visitor_change", args=[message.thread.visitor_id])
    assert f"{GROUPED} ms" in shown(client, thread)
    assert f"{GROUPED} messages" in shown(client, thread)
    assert f"503 in {GROUPED} ms" in shown(client, delivery)
    assert shown(client, visitor).count(GROUPED) == 2


def test_the_health_of_a_webhook_groups_digits(client: Client, tenant: Tenant) -> None:
    text = shown(client, reverse("admin:webhooks_endpoint_of", args=[tenant.chatbot.pk]))
    assert f"{GROUPED} in a row" in text
    hours = [Hour(timezone.now(), ok=FIGURE, failed=FIGURE)]
    bars = render_to_string("admin/webhooks/bars.html", {"bars": Bars(hours)})
    assert PLAIN not in bars
    assert f"{2 * FIGURE:,}" in bars
    assert not SEPARATED.findall(SPOKEN.sub("", bars))


@pytest.mark.slow
def test_inputs_attributes_and_exports_have_no_separators(client: Client, tenant: Tenant) -> None:
    plan = Plan.objects.get(pk=tenant.chatbot.account.plan_id)
    page = client.get(reverse("admin:accounts_plan_change", args=[plan.pk])).text
    assert page.count(f'value="{PLAIN}"') == 4
    for address in [one for one in pages(client, tenant) if one.startswith("/admin/")]:
        html = SPOKEN.sub("", client.get(address).text)
        assert not SEPARATED.findall(html.replace(" content=", " ")), address
    log = reverse("admin:webhooks_delivery_changelist")
    exported = b"".join(client.get(f"{log}export/json/").streaming_content)  # type: ignore[attr-defined]
    assert {row["responseMs"] for row in json.loads(exported)} == {FIGURE}
