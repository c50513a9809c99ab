"""The buttons on a webhook's page replace the secret, pause deliveries and send a test."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client
from django.urls import reverse

from chatbots.models import Chatbot
from tests.factories.staff import signed_in, superuser
from tests.factories.webhooks import SECRET, EndpointFactory
from tests.pages import fields_of
from webhooks import sealing
from webhooks.models import Endpoint

URL = "https://127.0.0.1:9/hook"
SINCE = datetime(2026, 3, 1, 8, 30, tzinfo=UTC)
SHOWN = re.compile(r'id="secret-text"[^>]* value="([^"]+)"')


class TestSecret:
    """The secret is replaced on a separate page, and only once if the form is submitted twice."""

    @pytest.fixture
    def endpoint(self, chatbot: Chatbot) -> Endpoint:
        made = SINCE - timedelta(days=1)
        return EndpointFactory(chatbot=chatbot, secret_made_at=made, secret_made_by="Sam")

    @pytest.fixture
    def page(self, endpoint: Endpoint) -> str:
        return reverse("admin:webhooks_endpoint_secret", args=[endpoint.chatbot_id])

    def test_the_page_names_the_webhook_and_the_consequence(
        self, client: Client, page: str, endpoint: Endpoint, address: str
    ) -> None:
        text = client.get(page).content.decode()
        for wanted in (endpoint.url, "stops working immediately", "signed with the new one"):
            assert wanted in text
        assert sealing.unseal(Endpoint.objects.get().sealed_secret) == SECRET
        assert "by Sam" in client.get(address).content.decode()

    def test_the_new_secret_is_shown_once_and_its_creator_is_recorded(
        self, client: Client, page: str, address: str, chatbot: Chatbot
    ) -> None:
        shown = client.post(page, fields_of(client.get(page)))
        [secret] = SHOWN.findall(shown.content.decode())
        assert "no-store" in shown["Cache-Control"]
        stored = Endpoint.objects.get()
        assert sealing.unseal(stored.sealed_secret) == secret != SECRET
        assert stored.secret_made_by == chatbot.account.owner.get_full_name()
        assert secret not in client.get(address).content.decode()

    def test_a_form_that_is_sent_twice_replaces_the_secret_once(
        self, client: Client, page: str, address: str
    ) -> None:
        form = fields_of(client.get(page))
        [secret] = SHOWN.findall(client.post(page, form).content.decode())
        again = client.post(page, form)
        assert (again.status_code, again["Location"]) == (302, address)
        assert sealing.unseal(Endpoint.objects.get().sealed_secret) == secret

    def test_a_secret_that_someone_else_has_replaced_meanwhile_is_kept(
        self, client: Client, page: str
    ) -> None:
        """Another replacement would invalidate the secret that the other person just received."""
        form, other = fields_of(client.get(page)), signed_in(superuser())
        [secret] = SHOWN.findall(other.post(page, fields_of(other.get(page))).text)
        answer = client.post(page, form, follow=True)
        assert "the secret was replaced after you opened this page" in answer.text
        assert "is new: it was created at" in answer.text
        assert sealing.unseal(Endpoint.objects.get().sealed_secret) == secret


def test_pausing_asks_for_confirmation_and_switching_on_does_not(
    client: Client, address: str, chatbot: Chatbot
) -> None:
    EndpointFactory(chatbot=chatbot)
    pause = reverse("admin:webhooks_endpoint_pause", args=[chatbot.pk])
    text = client.get(pause).content.decode()
    assert URL in text
    assert "become FAILED" in text
    assert Endpoint.objects.get().is_active
    client.post(pause)
    assert not Endpoint.objects.get().is_active
    assert client.get(pause).status_code == 302
    client.post(reverse("admin:webhooks_endpoint_resume", args=[chatbot.pk]))
    assert Endpoint.objects.get().is_active
