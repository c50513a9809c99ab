"""A delivery's page polls for changes, and a search in the delivery log finds deliveries."""

import re

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from chatbots.models import Chatbot
from config.database.ids import new_id
from tests.factories.accounts import MembershipFactory
from tests.factories.chatbots import ChatbotMemberFactory
from tests.factories.staff import AGENTS, signed_in, staff, superuser
from tests.factories.webhooks import DeliveryFactory
from webhooks.models import Attempt, Delivery

MOST = 4  # maximum number of queries in a poll that finds no change


@pytest.fixture
def client(chatbot: Chatbot) -> Client:
    return signed_in(staff(chatbot.account.owner, AGENTS))


def page_of(delivery: Delivery) -> str:
    return reverse("admin:webhooks_delivery_change", args=[delivery.pk])


def news_of(delivery: Delivery) -> str:
    return reverse("admin:webhooks_delivery_news", args=[delivery.pk])


def test_a_page_shows_each_attempt_with_its_response_and_its_time_to_the_millisecond(
    client: Client, chatbot: Chatbot
) -> None:
    delivery = DeliveryFactory(chatbot=chatbot, attempts_count=2)
    for number in (1, 2):
        Attempt.objects.create(
            delivery=delivery,
            number=number,
            status="RETRYING",
            started_at=f"2026-03-01T08:30:0{number}.123Z",
            response_code=503,
            response_body=f"answer {number}".encode(),
        )
    text = client.get(page_of(delivery)).content.decode()
    for wanted in ("answer 1", "answer 2", "08:30:01.123", "08:30:02.123"):
        assert wanted in text


def test_a_page_says_which_interrupted_attempts_were_made_again(
    client: Client, chatbot: Chatbot
) -> None:
    delivery = DeliveryFactory(chatbot=chatbot, state="FAILED", due_at=None, attempts_count=1)
    for status in ("RETRYING", "RETRYING", "FAILED"):
        Attempt.objects.create(
            delivery=delivery,
            number=1,
            status=status,
            interrupted=True,
            started_at=timezone.now(),
            finished_at=timezone.now(),
        )
    notes = re.findall(r"<td>(interrupted[^<]*)</td>", client.get(page_of(delivery)).text)
    assert [note.strip() for note in notes] == [
        "interrupted, tried again",
        "interrupted, tried again",
        "interrupted",
    ]


@pytest.mark.parametrize("who", ["superuser", "manager", "agent"])
def test_a_poll_without_news_has_no_body_and_makes_few_queries(who: str, chatbot: Chatbot) -> None:
    delivery = DeliveryFactory(chatbot=chatbot)
    user = {
        "superuser": superuser,
        "manager": lambda: staff(chatbot.account.owner, AGENTS),
        "agent": lambda: staff(MembershipFactory(account=chatbot.account).user, AGENTS),
    }[who]()
    ChatbotMemberFactory(chatbot=chatbot, user=user)
    client = signed_in(user)
    seen = client.get(news_of(delivery))
    assert seen.status_code == 200
    with CaptureQueriesContext(connection) as made:
        answer = client.get(news_of(delivery), headers={"If-None-Match": seen["ETag"]})
    assert (answer.status_code, answer.content) == (304, b"")
    assert len(made) <= MOST, [query["sql"] for query in made]


def test_a_poll_returns_each_change_of_the_delivery(client: Client, chatbot: Chatbot) -> None:
    delivery = DeliveryFactory(chatbot=chatbot)
    page = client.get(page_of(delivery)).content.decode()
    tag = re.search(r'data-tag="([^"]+)"', page)[1]
    assert "data-moving" in page
    assert re.search(r'data-seconds="[0-9.]+">(now|in \d+ s)</time>', page)
    unchanged = client.get(news_of(delivery), headers={"If-None-Match": f'"{tag}"'})
    assert unchanged.status_code == 304
    for change in (
        {"claim": new_id()},
        {"claim": None, "attempts_count": 1, "state": "RETRYING"},
        {"attempts_count": 4, "state": "FAILED", "due_at": None},
    ):
        Delivery.objects.filter(pk=delivery.pk).update(**change)
        answer = client.get(news_of(delivery), headers={"If-None-Match": f'"{tag}"'})
        assert answer.status_code == 200
        assert answer["ETag"] != f'"{tag}"'
        tag = answer["ETag"].strip('"')
    assert answer.json()["moving"] is False
    assert "Retry now" in answer.json()["html"]
    assert "data-moving" not in client.get(page_of(delivery)).content.decode()


def test_a_poll_of_another_accounts_delivery_is_a_404(client: Client) -> None:
    assert client.get(news_of(DeliveryFactory())).status_code == 404
