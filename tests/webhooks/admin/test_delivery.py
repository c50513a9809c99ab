"""A delivery's page shows its attempts, polls for changes and offers a retry."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from chatbots.models import Chatbot
from config.database.ids import new_id
from config.outbound.failures import Reason
from tests.factories.staff import signed_in
from tests.factories.webhooks import SECRET, DeliveryFactory, EndpointFactory
from webhooks.admin.advice import advice
from webhooks.models import Attempt, Delivery
from webhooks.models.reason import Refusal

LOG = reverse("admin:webhooks_delivery_changelist")
HOSTILE = b"<script>alert(1)</script>\xff\xfe<img src=x onerror=alert(2)>"
FAILED = {"state": "FAILED", "due_at": None, "attempts_count": 4, "last_code": 503, "last_ms": 41}


@pytest.fixture
def client(chatbot: Chatbot) -> Client:
    return signed_in(chatbot.account.owner)


@pytest.fixture
def failed(chatbot: Chatbot) -> Delivery:
    return DeliveryFactory(chatbot=chatbot, **FAILED)


def at(delivery: Delivery, name: str = "change") -> str:
    return reverse(f"admin:webhooks_delivery_{name}", args=[delivery.pk])


def text_of(client: Client, address: str) -> str:
    page = client.get(address)
    assert page.status_code == 200
    return page.content.decode()


def tried(delivery: Delivery, number: int, **fields: Any) -> Attempt:
    """Store an attempt that began a few hours ago, one hour after the previous attempt."""
    began = timezone.now() - timedelta(hours=9 - number)
    made = {"delivery": delivery, "number": number, "status": "FAILED", "started_at": began}
    return Attempt.objects.create(**made | fields)


def test_a_page_shows_the_request_and_the_response_as_inert_text(
    client: Client, failed: Delivery
) -> None:
    EndpointFactory(chatbot=failed.chatbot)
    Delivery.objects.filter(pk=failed.pk).update(body=b'{"question":"' + HOSTILE + b'"}')
    answer = {"response_code": 503, "response_ms": 41, "response_body": HOSTILE}
    headers = {"Server": "<b>evil</b>"}
    sent = {"url": "https://shop.example/<hook>", "signature": "sha256=abc", "by": "Kim <x>"}
    tried(
        failed, 4, started_at="2026-03-01T08:30:01.123Z", response_headers=headers, **answer | sent
    )
    text = text_of(client, at(failed))
    for hostile in ("<script>alert", "<img src=x", "<b>evil", "<hook>", "Kim <x>", SECRET):
        assert hostile not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    for wanted in ("503 in 41 ms", "08:30:01.123", "sha256=abc", "The receiver failed", "by Kim"):
        assert wanted in text


@pytest.mark.parametrize(
    ("made_hours_ago", "token"), [(9, "****test"), (1, "**** (replaced since)")]
)
def test_a_page_shows_the_request_of_the_last_attempt(
    client: Client, failed: Delivery, made_hours_ago: int, token: str
) -> None:
    made = timezone.now() - timedelta(hours=made_hours_ago)
    EndpointFactory(chatbot=failed.chatbot, masked_secret="****test", secret_made_at=made)
    tried(failed, 1, url="https://shop.example/first")
    tried(failed, 2, url="https://shop.example/then")
    text = text_of(client, at(failed))
    assert "POST https://shop.example/then" in text
    assert text.count("to https://shop.example/first") == 1
    assert "to https://shop.example/then" not in text
    assert re.search(r"<dt>X-WEBHOOK-TOKEN</dt><dd[^>]*>([^<]*)<", text)[1] == token


def test_a_page_says_which_interrupted_attempts_were_made_again(
    client: Client, failed: Delivery
) -> None:
    for status in ("RETRYING", "RETRYING", "FAILED"):
        tried(failed, 1, status=status, interrupted=True, finished_at=timezone.now())
    notes = re.findall(r"<td>(interrupted[^<]*)</td>", text_of(client, at(failed)))
    again = "interrupted, tried again"
    assert [note.strip() for note in notes] == [again, again, "interrupted"]


@pytest.mark.parametrize("is_test", [False, True])
def test_the_retry_button_makes_a_failed_delivery_due(
    client: Client, failed: Delivery, is_test: bool
) -> None:
    Delivery.objects.filter(pk=failed.pk).update(is_test=is_test)
    assert "Retry now" in text_of(client, at(failed))
    client.post(at(failed, "retry"))
    failed.refresh_from_db()
    assert (failed.state, failed.due_at is not None) == ("FAILED", True)
    assert failed.retried_by == failed.chatbot.account.owner.get_full_name()
    assert "Retry now" not in text_of(client, at(failed))


def test_only_failed_deliveries_of_a_selection_are_retried_and_the_rest_are_counted(
    client: Client, chatbot: Chatbot
) -> None:
    states = ("FAILED", "FAILED", "SUCCESS", "RETRYING", "PENDING")
    rows = [DeliveryFactory(chatbot=chatbot, state=state, due_at=None) for state in states]
    rows.append(DeliveryFactory(chatbot=chatbot, is_test=True, **FAILED))
    given = {"action": "retry_selected", "_selected_action": [str(row.pk) for row in rows]}
    text = client.post(LOG, given, follow=True).content.decode()
    assert "2 retries queued" in text
    assert "4 skipped: only FAILED deliveries can be retried. Tests can be retried only" in text
    due = Delivery.objects.filter(due_at__isnull=False).values_list("pk", flat=True)
    assert set(due) == {rows[0].pk, rows[1].pk}


@pytest.mark.parametrize("reason", [*Reason, *Refusal])
def test_every_reason_has_words_and_advice(reason: Reason | Refusal) -> None:
    assert bool(reason.label) == bool(advice(None, reason)) == (reason is not Reason.NONE)


def test_a_retry_while_sending_is_off_is_reported_as_waiting(
    client: Client, failed: Delivery, settings: Any
) -> None:
    settings.SENDING = False
    text = client.post(at(failed, "retry"), follow=True).content.decode()
    assert "Nothing is sent while SENDING=off" in text
    assert "queued" not in text


def test_an_erased_delivery_cannot_be_retried(client: Client, chatbot: Chatbot) -> None:
    row = DeliveryFactory(chatbot=chatbot, body=b"", **FAILED)
    page = text_of(client, at(row))
    assert "The content was erased, so the delivery cannot be sent again" in page
    assert "Retry now" not in page
    answer = client.post(at(row, "retry"), follow=True).content.decode()
    assert "It cannot be retried: its content was erased" in answer
    assert Delivery.objects.get(pk=row.pk).due_at is None


def test_a_poll_returns_each_change_of_the_delivery(client: Client, chatbot: Chatbot) -> None:
    delivery = DeliveryFactory(chatbot=chatbot)
    page = text_of(client, at(delivery))
    tag = '"{}"'.format(re.search(r'data-tag="([^"]+)"', page)[1])
    assert "data-moving" in page
    for change in (
        {"claim": new_id()},
        {"claim": None, "attempts_count": 1, "state": "RETRYING"},
        {"attempts_count": 4, "state": "FAILED", "due_at": None},
    ):
        unchanged = client.get(at(delivery, "news"), headers={"If-None-Match": tag})
        assert (unchanged.status_code, unchanged.content) == (304, b"")
        Delivery.objects.filter(pk=delivery.pk).update(**change)
        answer = client.get(at(delivery, "news"), headers={"If-None-Match": tag})
        assert (answer.status_code, answer["ETag"] == tag) == (200, False)
        tag = answer["ETag"]
    assert answer.json()["moving"] is False
    assert "Retry now" in answer.json()["html"]
    assert "data-moving" not in text_of(client, at(delivery))
    assert client.get(at(DeliveryFactory(), "news")).status_code == 404, "another account's"
