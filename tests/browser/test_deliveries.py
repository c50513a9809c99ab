"""An integrator's work in a browser: webhooks, deliveries, bulk retries, keys and exports."""

import csv
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Page, expect

from accounts.models import ApiKey
from chatbots.models import Chatbot
from tests.browser.devices import Device
from tests.factories import bulk
from tests.factories.conversations import LeadFactory, ThreadFactory
from tests.factories.webhooks import SECRET, DeliveryFactory, EndpointFactory
from tests.servers import certificates
from tests.servers.behaviors import answer
from tests.servers.processes import Worker, wait_until
from tests.servers.receiver import Receiver
from webhooks.models import Delivery, Endpoint, RetryJob

EVENTS = ("NEW_MESSAGE", "CONVERSATION_ESCALATED", "NEW_LEAD")
LOG = reverse("admin:webhooks_delivery_changelist")


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver(certificates.good()) as receiver:
        yield receiver


@pytest.fixture
def worker(shop: Chatbot) -> Iterator[Worker]:
    with Worker(WEBHOOK_RETRY_DELAYS="1,1,1") as worker:
        yield worker


@pytest.fixture
def endpoint(shop: Chatbot, receiver: Receiver) -> Endpoint:
    return EndpointFactory(chatbot=shop, url=receiver.url("/hook"), last_success_at=timezone.now())


def page_of(chatbot: Chatbot) -> str:
    return reverse("admin:webhooks_endpoint_of", args=[chatbot.pk])


def test_an_integrator_sets_up_a_webhook_and_tests_each_event(
    device: Device, shop: Chatbot, receiver: Receiver, worker: Worker
) -> None:
    page = device.page
    page.goto(page_of(shop))
    device.write(page.get_by_label("URL"), receiver.url("/hook"))
    device.press(page.get_by_role("button", name="Save"))
    secret = page.get_by_label("Webhook secret").input_value()
    device.press(page.get_by_role("link", name="I have kept it"))
    expect(page.get_by_text(f"****{secret[-4:]}")).to_be_visible()
    assert secret not in page.content()
    test = page.locator("#test")
    send = page.get_by_role("button", name="Send sample")
    for event in EVENTS:
        device.choose(page.get_by_label("Event", exact=True), event)
        device.press(send)
        expect(test.locator("#live").get_by_text(event, exact=True)).to_be_visible()
        expect(test.get_by_text("SUCCESS", exact=True)).to_be_visible()
    receiver.on("/hook", answer(500, b"upstream down"))
    device.press(send)
    expect(test.get_by_text("FAILED", exact=True)).to_be_visible()
    expect(test.get_by_text("upstream down")).to_be_visible()
    expect(test.get_by_text("look at its own log")).to_be_visible()
    assert len(receiver.arrivals) == len(EVENTS) + 1


@pytest.mark.slow
def test_a_secret_is_replaced_once_even_after_going_back(
    page: Page, shop: Chatbot, endpoint: Endpoint
) -> None:
    Endpoint.objects.update(secret_made_at="2026-01-01T00:00Z")
    page.goto(page_of(shop))
    page.get_by_role("link", name="Replace the secret").click()
    expect(page.get_by_text("The old secret stops working immediately")).to_be_visible()
    page.get_by_role("button", name="Replace the secret").click()
    secret = page.get_by_label("Webhook secret").input_value()
    sealed = Endpoint.objects.get().sealed_secret
    page.go_back()
    expect(page.get_by_text("is new: it was created at")).to_be_visible()
    assert secret not in page.content()
    assert page.get_by_role("button", name="Replace the secret").count() == 0
    assert Endpoint.objects.get().sealed_secret == sealed


def test_a_failing_delivery_is_watched_retried_and_sent_again_from_a_shell(
    device: Device, shop: Chatbot, endpoint: Endpoint, receiver: Receiver, worker: Worker
) -> None:
    page = device.page
    receiver.on("/hook", answer(503, b"upstream down"))
    delivery = DeliveryFactory(chatbot=shop, body='{"event":"NEW_LEAD","name":"Zoë"}'.encode())
    page.goto(reverse("admin:webhooks_delivery_change", args=[delivery.pk]))
    live = page.locator("#live")
    expect(live.get_by_text(re.compile(r"^in \d+ s$|^now$")).first).to_be_visible()
    expect(live.get_by_text("after 4 attempts")).to_be_visible()
    expect(live.get_by_text("look at its own log")).to_be_visible()
    device.press(live.get_by_text(re.compile(r"^503 in \d+ ms$")).first)
    expect(live.get_by_text("upstream down").first).to_be_visible()
    expect(live.get_by_text("matches (secret unchanged since)")).to_be_visible()
    receiver.on("/hook", answer(200))
    address, _, _ = page.url.partition("#")
    device.press(page.get_by_role("button", name="Retry now"))
    expect(live.get_by_text("after 5 attempts")).to_be_visible()
    expect(live.get_by_text("SUCCESS").first).to_be_visible()
    assert page.url == address
    receiver.arrivals.clear()
    device.press(page.get_by_role("button", name="Copy the command"))
    expect(page.get_by_text("Copied")).to_be_visible()
    line = page.evaluate("navigator.clipboard.readText()").replace("curl ", "curl -sk ", 1)
    subprocess.run(["sh", "-c", line], env={"SECRET": SECRET}, check=True, timeout=60)
    [arrival] = receiver.arrivals
    assert arrival.body == bytes(delivery.body)
    assert page.locator("#body-sent").text_content() == bytes(delivery.body).decode()


@pytest.mark.slow
def test_200_failures_are_filtered_and_retried_with_a_stop_in_between(
    device: Device, shop: Chatbot, endpoint: Endpoint, receiver: Receiver, worker: Worker
) -> None:
    page = device.page
    failed = {"state": "FAILED", "due_at": None, "attempts_count": 4, "last_code": 503}
    bulk.copy(DeliveryFactory(chatbot=shop, **failed), 199)
    other = DeliveryFactory(chatbot=shop, **failed | {"last_code": 404})
    page.goto(LOG)
    device.press(page.get_by_role("link", name="Failures by cause"))
    device.press(page.get_by_role("link", name="response 503"))
    device.press(page.get_by_role("link", name="Retry all that match"))
    expect(page.get_by_text("200")).to_be_visible()
    expect(page.get_by_text("The receivers will see these deliveries again")).to_be_visible()
    device.write(page.get_by_label("Deliveries per second for each endpoint"), "20")
    device.press(page.get_by_role("button", name="Retry all"))
    wait_until(lambda: len(receiver.arrivals) > 10, told=worker.said)
    device.press(page.get_by_role("button", name="Stop"))
    expect(page.locator("#live").get_by_text("stopped by Kim")).to_be_visible()
    wait_until(lambda: not Delivery.objects.filter(due_at__isnull=False).exists())
    assert 0 < Delivery.objects.filter(state="FAILED").count() - 1 < 200
    RetryJob.objects.update(per_second=100)  # the low rate gave the test time to press Stop
    device.press(page.get_by_role("button", name="Resume"))
    expect(page.locator("#live").get_by_text("SUCCEEDED", exact=True)).to_be_visible()
    expect(page.get_by_text("200 of 200 retried: 200 succeeded")).to_be_visible()
    wait_until(lambda: Delivery.objects.filter(state="SUCCESS").count() == 200)
    assert Delivery.objects.get(state="FAILED") == other
    assert len(receiver.arrivals) == 200


def test_a_key_is_issued_rotated_and_revoked(device: Device) -> None:
    page = device.page
    page.goto(reverse("admin:accounts_apikey_add"))
    device.write(page.get_by_label("Label"), "Shop iOS")
    device.press(page.get_by_role("button", name="Issue"))
    first = page.get_by_label("API key").input_value()
    page.reload()
    assert first not in page.content()
    [key] = ApiKey.objects.all()
    page.goto(reverse("admin:accounts_apikey_change", args=[key.pk]))
    device.press(page.get_by_role("link", name="Rotate"))
    device.check(page.get_by_label("1 hour"))
    device.press(page.get_by_role("button", name="Rotate"))
    second = page.get_by_label("API key").input_value()
    assert second != first
    page.go_back()
    expect(page.get_by_text("cannot be rotated")).to_be_visible()
    expect(page.get_by_text("It works until")).to_be_visible()
    assert ApiKey.objects.count() == 2
    new = ApiKey.objects.get(replaced_at=None)
    page.goto(reverse("admin:accounts_apikey_change", args=[new.pk]))
    device.press(page.get_by_role("link", name="Revoke"))
    expect(page.get_by_text("Calls with a revoked key are refused immediately")).to_be_visible()
    assert ApiKey.objects.get(pk=new.pk).revoked_at is None
    device.press(page.get_by_role("button", name="Revoke"))
    expect(page.get_by_text("is revoked")).to_be_visible()
    assert ApiKey.objects.get(pk=new.pk).state == "revoked"


@pytest.mark.slow
def test_leads_are_exported(device: Device, shop: Chatbot, tmp_path: Path) -> None:
    page = device.page
    LeadFactory(thread=ThreadFactory(chatbot=shop), name="=1+1")
    page.goto(reverse("admin:conversations_lead_changelist"))
    with page.expect_download() as started:
        device.press(page.get_by_role("link", name="CSV"))
    started.value.save_as(tmp_path / "leads.csv")
    with (tmp_path / "leads.csv").open(encoding="utf-8-sig", newline="") as lines:
        [row] = csv.DictReader(lines)
    assert row["name"] == "'=1+1"  # not a formula
