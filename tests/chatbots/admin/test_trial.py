"""A trial is a chat that uses the bot's saved settings and stores nothing."""

import json
import time

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import Usage
from chatbots.admin.trial import RATE
from chatbots.models import Chatbot, LlmModel
from chatbots.services import general_settings
from conversations.models import Message, Thread
from tests.factories.chatbots import ChatbotFactory, InstructionFactory, PersonaFactory
from tests.factories.staff import signed_in, superuser
from tests.pages import fields_of
from tests.servers.model import ModelServer
from webhooks.models import Delivery


@pytest.fixture
def address(chatbot: Chatbot, model: ModelServer) -> str:
    row = LlmModel.objects.create(provider="openai", title="Real", base_url=model.base_url)
    given = {
        "llm_model_id": row.pk,
        "description": "A shop.",
        "history_message_context": 2,
        "fallback_message": "<b>Later</b>",
    }
    general_settings.change(chatbot.pk, given)
    return reverse("admin:chatbots_chatbot_try", args=[chatbot.pk])


def test_the_bot_answers_with_its_saved_settings(
    client: Client, chatbot: Chatbot, address: str, model: ModelServer
) -> None:
    InstructionFactory(
        chatbot=chatbot, instruction="Be <brief>.", is_active=True, creativity_level=0.2
    )
    page = client.post(address, {"question": "Hi & hello"})
    text = page.content.decode()
    assert "You said: Hi &amp; hello" in text
    assert "Real, " in text
    assert "temperature 0.2" in text
    assert "A shop.\n\nBe &lt;brief&gt;." in text
    assert "no-store" in page["Cache-Control"]
    [question] = model.questions
    assert question["temperature"] == 0.2
    assert [each["content"] for each in question["messages"]] == [
        "A shop.\n\nBe <brief>.",
        "Hi & hello",
    ]


def test_the_page_carries_the_conversation_and_stores_nothing(
    client: Client, address: str, model: ModelServer
) -> None:
    form = fields_of(client.post(address, {"question": "one"}))
    form = fields_of(client.post(address, form | {"question": "two"}))
    page = client.post(address, form | {"question": "three"})
    assert [each["content"] for each in model.questions[-1]["messages"]] == [
        *("A shop.", "two", "You said: two", "three")  # only as much history as the settings allow
    ]
    assert len(json.loads(fields_of(page)["said"])) == 6
    for kind in (Thread, Message, Delivery, Usage):
        assert not kind.objects.exists()


def test_a_failure_shows_the_reason_and_the_fallback(
    client: Client, address: str, model: ModelServer
) -> None:
    LlmModel.objects.filter(title="Real").update(base_url="http://127.0.0.1:9/v1")
    text = client.post(address, {"question": "Hi"}).content.decode()
    assert "No model answered:" in text
    assert "&lt;b&gt;Later&lt;/b&gt;" in text
    assert LlmModel.objects.get(title="Real").last_failure_at is None
    LlmModel.objects.update(is_default=False, is_active=False)
    text = client.post(address, {"question": "Hi"}).content.decode()
    assert "no model is marked as the default" in text


@pytest.mark.parametrize("said", ["{", "[1]", "null", '[["user"]]', '{"a": 1}', "[[[], {}]]"])
def test_a_tampered_conversation_starts_over(client: Client, address: str, said: str) -> None:
    page = client.post(address, {"question": "Hi", "said": said})
    assert "You said: Hi" in page.content.decode()


@pytest.mark.slow
def test_the_rate_of_questions_is_limited(
    client: Client, address: str, model: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.time()
    monkeypatch.setattr("time.time", lambda: now)  # no rate limit window ends during the test
    pages = [client.post(address, {"question": "Hi"}) for _ in range(RATE[0] + 1)]
    assert "You said" not in pages[-1].content.decode()
    assert len(model.questions) == RATE[0]


def test_only_people_with_access_to_the_bot_can_try_it(address: str, chatbot: Chatbot) -> None:
    for user in (ChatbotFactory().account.owner, PersonaFactory().chatbot.account.owner):
        stranger = signed_in(user)
        assert stranger.get(address).status_code == 302
        assert stranger.post(address, {"question": "Hi"}).status_code == 302
    assert signed_in(superuser()).get(address).status_code == 200
