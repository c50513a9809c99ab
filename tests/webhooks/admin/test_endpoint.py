"""A chatbot's webhook is configured on its own page."""

import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import Account
from chatbots.models import Chatbot
from tests.factories.webhooks import SECRET, EndpointFactory
from tests.pages import fields_of
from webhooks import sealing
from webhooks.models import Delivery, Endpoint

URL = "https://127.0.0.1:9/hook"
SHOWN = re.compile(r'id="secret-text"[^>]* value="([^"]+)"')


def given(**changes: Any) -> dict[str, Any]:
    """Return valid form data for a new webhook, with some fields changed or added."""
    made = {"url": URL, "events": ["NEW_LEAD"], "is_active": "on", "secret_choice": "make"}
    return made | {"secret": ""} | changes


def test_a_generated_secret_is_shown_once_on_a_page_that_is_not_cached(
    client: Client, address: str, chatbot: Chatbot
) -> None:
    page = client.post(address, given())
    [secret] = SHOWN.findall(page.content.decode())
    assert "no-store" in page["Cache-Control"]
    endpoint = Endpoint.objects.get(chatbot=chatbot)
    assert sealing.unseal(endpoint.sealed_secret) == secret
    assert (endpoint.url, endpoint.events, endpoint.is_active) == (URL, ["NEW_LEAD"], True)
    again = client.get(address).content.decode()
    assert secret not in again
    assert endpoint.masked_secret in again


def test_the_secret_is_kept_unless_another_one_is_requested(
    client: Client, address: str, chatbot: Chatbot
) -> None:
    EndpointFactory(chatbot=chatbot)
    answer = client.post(address, fields_of(client.get(address)) | {"url": f"{URL}/other"})
    assert (answer.status_code, answer["Location"]) == (302, address)
    endpoint = Endpoint.objects.get()
    assert (endpoint.url, sealing.unseal(endpoint.sealed_secret)) == (f"{URL}/other", SECRET)


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"url": "http://127.0.0.1:9/hook"}, "must begin with https://"),
        ({"url": ""}, "This field is required"),
        ({"events": []}, "This field is required"),
        ({"events": ["NEW_MOON"]}, "not one of the available choices"),
        ({"secret_choice": "own", "secret": "x" * 15}, "secret must have at least 16 characters"),
        ({"secret_choice": "own", "secret": ""}, "Enter the secret"),
        ({"secret": "x" * 16}, "Choose &quot;Use my own&quot;, or clear this field"),
        ({"secret_choice": "other"}, "not one of the available choices"),
    ],
)
def test_an_invalid_configuration_is_rejected_and_the_input_is_kept(
    client: Client, address: str, changes: dict[str, Any], fault: str
) -> None:
    typed = given(**changes)
    page = client.post(address, typed)
    assert page.status_code == 200
    assert fault in page.content.decode()
    assert fields_of(page)["url"] == typed["url"]
    assert not Endpoint.objects.exists()


def test_a_secret_typed_without_choosing_use_my_own_is_rejected_and_not_shown_again(
    client: Client, address: str, chatbot: Chatbot
) -> None:
    EndpointFactory(chatbot=chatbot)
    page = reverse("admin:webhooks_endpoint_secret", args=[chatbot.pk])
    text = client.post(page, {"secret_choice": "make", "secret": "typed-but-not-meant"}).content
    assert b"Choose &quot;Use my own&quot;, or clear this field" in text
    assert b"typed-but-not-meant" not in text
    assert sealing.unseal(Endpoint.objects.get().sealed_secret) == SECRET


def test_without_the_add_on_the_page_is_read_only_and_gives_the_reason(
    client: Client, address: str, chatbot: Chatbot
) -> None:
    EndpointFactory(chatbot=chatbot)
    Account.objects.update(webhooks_enabled=False)
    text = client.get(address).content.decode()
    assert "Webhooks are an add-on" in text
    assert 'name="url"' not in text
    assert "Replace the secret" not in text
    assert client.post(address, given()).status_code == 403
    for button in ("secret", "test", "resume", "pause"):
        route = reverse(f"admin:webhooks_endpoint_{button}", args=[chatbot.pk])
        assert client.post(route, {"secret_choice": "make", "event": "NEW_LEAD"}).status_code == 403
    assert sealing.unseal(Endpoint.objects.get().sealed_secret) == SECRET
    assert Endpoint.objects.get().url == URL


def test_a_member_can_change_the_events_but_not_the_secret_or_the_url(
    member: Client, address: str, chatbot: Chatbot
) -> None:
    """A member who could change the URL could have the secret sent to their own server."""
    EndpointFactory(chatbot=chatbot)
    elsewhere = {"url": "https://127.0.0.2:9/elsewhere", "events": ["NEW_LEAD"], "is_active": "on"}
    assert member.post(address, elsewhere).status_code == 302
    endpoint = Endpoint.objects.get()
    assert (endpoint.url, endpoint.events) == (URL, ["NEW_LEAD"])
    page = reverse("admin:webhooks_endpoint_secret", args=[chatbot.pk])
    assert page not in member.get(address).content.decode()
    assert member.post(page, {"secret_choice": "make"}).status_code == 403
    assert sealing.unseal(Endpoint.objects.get().sealed_secret) == SECRET


def test_a_sample_is_sent_as_a_test(client: Client, address: str, chatbot: Chatbot) -> None:
    EndpointFactory(chatbot=chatbot)
    test = reverse("admin:webhooks_endpoint_test", args=[chatbot.pk])
    answer = client.post(test, {"event": "NEW_LEAD"})
    delivery = Delivery.objects.get()
    assert (delivery.is_test, delivery.event) == (True, "NEW_LEAD")
    assert answer["Location"] == f"{address}?test={delivery.pk}#test"
    assert client.get(test).status_code == 405


def test_a_sample_while_sending_is_off_is_reported_as_waiting(
    client: Client, address: str, chatbot: Chatbot, settings: Any
) -> None:
    settings.SENDING = False
    EndpointFactory(chatbot=chatbot)
    test = reverse("admin:webhooks_endpoint_test", args=[chatbot.pk])
    text = client.post(test, {"event": "NEW_LEAD"}, follow=True).content.decode()
    assert "Nothing is sent while SENDING=off" in text
    assert "on its way" not in text
    news = reverse("admin:webhooks_delivery_news", args=[Delivery.objects.get().pk])
    for shown in (text, client.get(news, {"part": "test"}).json()["html"]):
        assert "held: SENDING=off" in shown
        assert "waiting for the response" not in shown
