"""How a chatbot's webhook is configured, which values are rejected, and which events are sent."""

import io
import json
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from chatbots.models import Chatbot
from tests.conftest import Api
from tests.factories.conversations import ThreadFactory
from webhooks.models import Delivery, Endpoint
from webhooks.payloads import Event

pytestmark = pytest.mark.proves("Events")

URL = "https://hooks.example.com/bots"
SECRET = "correct-horse-battery-staple"


def configure(chatbot: Chatbot, *words: str) -> Any:
    """Configure a webhook with the management command. Returns the printed record."""
    said = io.StringIO()
    call_command("configure_webhook", str(chatbot.pk), *words, "--json", stdout=said)
    return json.loads(said.getvalue())


def talk(api: Api, chatbot: Chatbot) -> None:
    """Trigger every kind of event: a message with its reply, a lead, and an escalation.

    Asserts that each of these requests succeeds.
    """
    settings = f"/v1/chatbots/chatbot/{chatbot.pk}/lead-settings"
    assert api.post(settings, ALL_LEADS).status_code == 200
    thread = ThreadFactory(chatbot=chatbot)
    base = f"/v1/chatting/{chatbot.pk}/thread"
    assert api.post(f"{base}/{thread.pk}/message", {"content": "Hello"}).status_code == 200
    contact = {"threadId": str(thread.pk), "visitorEmail": "ada@example.com"}
    assert api.patch(f"{base}/update-thread", contact).status_code == 200
    assert api.patch(f"{base}/{thread.pk}/escalate").status_code == 200


ALL_LEADS = {"enableLeadCollection": True, "customerEmailTake": True}


@pytest.mark.proves("Events/1")
def test_a_new_configuration_replaces_the_old_one_and_receives_every_event(
    api: Api, chatbot: Chatbot
) -> None:
    configure(chatbot, "--url", "https://old.example.com/")
    made = configure(chatbot, "--url", URL)
    assert (made["url"], made["events"]) == (URL, [event.value for event in Event])
    assert Endpoint.objects.get().url == URL
    talk(api, chatbot)
    sent = Delivery.objects.order_by("id")
    assert {each.event for each in sent} == set(Event)
    assert all(json.loads(bytes(each.body))["event"] == each.event for each in sent)


@pytest.mark.proves("Events/3")
def test_only_subscribed_events_are_sent(api: Api, chatbot: Chatbot) -> None:
    configure(chatbot, "--url", URL, "--events", "NEW_LEAD,CONVERSATION_ESCALATED")
    talk(api, chatbot)
    events = sorted(Delivery.objects.values_list("event", flat=True))
    assert events == ["CONVERSATION_ESCALATED", "NEW_LEAD"]


@pytest.mark.proves("Events/3")
def test_a_secret_is_shown_once_and_stored_encrypted(api: Api, chatbot: Chatbot) -> None:
    made = configure(chatbot, "--url", URL)
    assert len(made["secret"]) >= 16
    assert "secret" not in configure(chatbot, "--url", URL, "--keep-secret")
    assert "secret" not in configure(chatbot, "--url", URL, "--secret", SECRET)
    thread = ThreadFactory(chatbot=chatbot)
    answer = api.get(f"/v1/chatting/{chatbot.pk}/thread/{thread.pk}").content.decode()
    assert SECRET not in answer
    assert SECRET not in str(Endpoint.objects.values().get())


@pytest.mark.proves("Events/3")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--url", "http://hooks.example.com/"], "url: "),
        (["--url", "https://127.0.0.1:1/", "--secret", "x" * 15], "secret: secret must have"),
        (["--url", URL, "--events", "NEW_MESSAGE,OTHER"], "events: unknown: OTHER"),
        (["--url", URL, "--keep-secret"], "secret: there is no secret to keep yet"),
    ],
)
def test_an_invalid_configuration_is_rejected(
    chatbot: Chatbot, words: list[str], message: str
) -> None:
    with pytest.raises(CommandError, match=message):
        configure(chatbot, *words)
    assert not Endpoint.objects.exists()


@pytest.mark.proves("Events/2")
def test_without_the_add_on_nothing_can_be_configured_or_recorded(
    api: Api, chatbot: Chatbot
) -> None:
    configure(chatbot, "--url", URL)
    chatbot.account.webhooks_enabled = False
    chatbot.account.save()
    with pytest.raises(CommandError, match="add-on"):
        configure(chatbot, "--url", "https://new.example.com/")
    talk(api, chatbot)
    assert Endpoint.objects.get().url == URL
    assert not Delivery.objects.exists()
