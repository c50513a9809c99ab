"""A chatbot's webhook is configured, paused and tested on its own page."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import Account
from chatbots.models import Chatbot
from tests.factories.staff import signed_in, superuser
from tests.factories.webhooks import SECRET, EndpointFactory
from tests.pages import fields_of
from webhooks import sealing
from webhooks.models import Delivery, Endpoint

URL = "https://127.0.0.1:9/hook"
SHOWN = re.compile(r'id="secret-text"[^>]* value="([^"]+)"')


@pytest.fixture
def endpoint(chatbot: Chatbot) -> Endpoint:
    """An endpoint whose secret is a day old, so that the page offers to replace it."""
    made = timezone.now() - timedelta(days=1)
    return EndpointFactory(chatbot=chatbot, secret_made_at=made, secret_made_by="Sam")


def given(**changes: Any) -> dict[str, Any]:
    """Return valid form data for a new webhook, with some fields changed or added."""
    made = {"url": URL, "events": ["NEW_LEAD"], "is_active": "on", "secret_choice": "make"}
    return made | {"secret": ""} | changes


def at(chatbot: Chatbot, button: str) -> str:
    return reverse(f"admin:webhooks_endpoint_{button}", args=[chatbot.pk])


def secret() -> str:
    return sealing.unseal(Endpoint.objects.get().sealed_secret)


def test_a_generated_secret_is_shown_once_on_a_page_that_is_not_cached(
    client: Client, address: str
) -> None:
    page = client.post(address, given())
    [shown] = SHOWN.findall(page.content.decode())
    assert "no-store" in page["Cache-Control"]
    assert shown == secret()
    endpoint = Endpoint.objects.get()
    assert (endpoint.url, endpoint.events, endpoint.is_active) == (URL, ["NEW_LEAD"], True)
    again = client.get(address).content.decode()
    assert shown not in again
    assert endpoint.masked_secret in again


def test_the_secret_is_kept_unless_another_one_is_requested(
    client: Client, address: str, endpoint: Endpoint
) -> None:
    form = fields_of(client.get(address)) | {"url": f"{URL}/other", "secret": "x" * 16}
    answer = client.post(address, form)
    assert (answer.status_code, answer["Location"]) == (302, address)
    assert (Endpoint.objects.get().url, secret()) == (f"{URL}/other", SECRET)


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


def test_without_the_add_on_the_page_is_read_only_and_gives_the_reason(
    client: Client, address: str, endpoint: Endpoint
) -> None:
    Account.objects.update(webhooks_enabled=False)
    text = client.get(address).content.decode()
    assert "Webhooks are an add-on" in text
    assert 'name="url"' not in text
    assert "Replace the secret" not in text
    buttons = [at(endpoint.chatbot, button) for button in ("secret", "test", "resume", "pause")]
    for route in (address, *buttons):
        assert client.post(route, given(event="NEW_LEAD")).status_code == 403
    assert (Endpoint.objects.get().url, secret()) == (URL, SECRET)


def test_a_member_can_change_the_events_but_not_the_secret_or_the_url(
    member: Client, address: str, endpoint: Endpoint
) -> None:
    """A member who could change the URL could have the secret sent to their own server."""
    elsewhere = {"url": "https://127.0.0.2:9/elsewhere", "events": ["NEW_LEAD"], "is_active": "on"}
    assert member.post(address, elsewhere).status_code == 302
    stored = Endpoint.objects.get()
    assert (stored.url, stored.events) == (URL, ["NEW_LEAD"])
    page = at(endpoint.chatbot, "secret")
    assert page not in member.get(address).content.decode()
    assert member.post(page, {"secret_choice": "make"}).status_code == 403
    assert secret() == SECRET


def test_a_sample_is_sent_as_a_test(client: Client, address: str, endpoint: Endpoint) -> None:
    test = at(endpoint.chatbot, "test")
    answer = client.post(test, {"event": "NEW_LEAD"})
    delivery = Delivery.objects.get()
    assert (delivery.is_test, delivery.event) == (True, "NEW_LEAD")
    assert answer["Location"] == f"{address}?test={delivery.pk}#test"
    assert client.get(test).status_code == 302


def test_a_sample_while_sending_is_off_is_reported_as_waiting(
    client: Client, endpoint: Endpoint, settings: Any
) -> None:
    settings.SENDING = False
    sent = client.post(at(endpoint.chatbot, "test"), {"event": "NEW_LEAD"}, follow=True).text
    assert "Nothing is sent while SENDING=off" in sent
    news = reverse("admin:webhooks_delivery_news", args=[Delivery.objects.get().pk])
    for shown in (sent, client.get(news, {"part": "test"}).json()["html"]):
        assert "held: SENDING=off" in shown
        assert "waiting for the response" not in shown


def test_pausing_asks_for_confirmation_and_switching_on_does_not(
    client: Client, endpoint: Endpoint
) -> None:
    pause = at(endpoint.chatbot, "pause")
    text = client.get(pause).content.decode()
    assert URL in text
    assert "become FAILED" in text
    assert Endpoint.objects.get().is_active
    client.post(pause)
    assert not Endpoint.objects.get().is_active
    assert client.get(pause).status_code == 302
    client.post(at(endpoint.chatbot, "resume"))
    assert Endpoint.objects.get().is_active


class TestSecret:
    """The secret is replaced on a separate page, and only once if the form is submitted twice."""

    @pytest.fixture
    def page(self, endpoint: Endpoint) -> str:
        return at(endpoint.chatbot, "secret")

    def test_the_new_secret_is_shown_once_and_its_creator_is_recorded(
        self, client: Client, page: str, address: str, endpoint: Endpoint
    ) -> None:
        before = client.get(page)
        for wanted in (endpoint.url, "stops working immediately", "signed with the new one"):
            assert wanted in before.text
        assert "by Sam" in client.get(address).text
        assert secret() == SECRET
        shown = client.post(page, fields_of(before))
        [new] = SHOWN.findall(shown.text)
        assert "no-store" in shown["Cache-Control"]
        assert secret() == new != SECRET
        by = endpoint.chatbot.account.owner.get_full_name()
        assert Endpoint.objects.get().secret_made_by == by
        assert new not in client.get(address).text

    def test_a_form_that_is_sent_twice_replaces_the_secret_once(
        self, client: Client, page: str, address: str
    ) -> None:
        form = fields_of(client.get(page))
        [new] = SHOWN.findall(client.post(page, form).text)
        again = client.post(page, form)
        assert (again.status_code, again["Location"]) == (302, address)
        assert secret() == new

    def test_a_secret_that_someone_else_has_replaced_meanwhile_is_kept(
        self, client: Client, page: str
    ) -> None:
        """Another replacement would invalidate the secret that the other person just received."""
        form, other = fields_of(client.get(page)), signed_in(superuser())
        [new] = SHOWN.findall(other.post(page, fields_of(other.get(page))).text)
        answer = client.post(page, form, follow=True)
        assert "the secret was replaced after you opened this page" in answer.text
        assert secret() == new

    def test_a_secret_typed_without_choosing_use_my_own_is_rejected_and_not_shown_again(
        self, client: Client, page: str
    ) -> None:
        typed = {"secret_choice": "make", "secret": "typed-but-not-meant"}
        text = client.post(page, typed).text
        assert "Choose &quot;Use my own&quot;, or clear this field" in text
        assert "typed-but-not-meant" not in text
        assert secret() == SECRET
