"""The buttons on a webhook's page replace the secret, pause deliveries and send a test."""

import re
from concurrent.futures import Future, ThreadPoolExecutor, wait
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from chatbots.models import Chatbot
from tests.factories.staff import signed_in, superuser
from tests.factories.webhooks import SECRET, EndpointFactory
from tests.pages import fields_of
from webhooks import sealing
from webhooks.models import Endpoint
from webhooks.services import endpoint as service

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

    @pytest.mark.django_db(transaction=True)
    def test_only_one_of_two_people_can_replace_the_secret_at_the_same_time(
        self, client: Client, page: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        forms = {user: fields_of(user.get(page)) for user in (client, signed_in(superuser()))}
        real, later = service.replace_secret, list[Future[HttpResponse]]()

        def submit(user: Client) -> HttpResponse:
            try:
                return user.post(page, forms[user])
            finally:
                if user is not client:
                    connection.close()

        def replace(*args: Any, **options: Any) -> Any:
            if not later:
                later.append(pool.submit(submit, [*forms][1]))
                wait(later, timeout=0.3)
            return real(*args, **options)

        monkeypatch.setattr(service, "replace_secret", replace)
        with ThreadPoolExecutor(1) as pool:
            [secret] = SHOWN.findall(submit(client).text)
            assert later[0].result().status_code == 302
        assert sealing.unseal(Endpoint.objects.get().sealed_secret) == secret

    def test_going_back_shows_no_form_until_the_user_asks_for_one(
        self, client: Client, page: str
    ) -> None:
        client.post(page, fields_of(client.get(page)))
        back = client.get(page)
        assert "is new: it was created at" in back.content.decode()
        assert "form_token" not in fields_of(back)
        assert "form_token" in fields_of(client.get(f"{page}?again=1"))

    def test_a_custom_secret_is_checked(self, client: Client, page: str) -> None:
        given = {"secret_choice": "own", "secret": "x" * 15}
        text = client.post(page, given).content.decode()
        assert "secret must have at least 16 characters" in text
        assert sealing.unseal(Endpoint.objects.get().sealed_secret) == SECRET

    def test_saving_the_configuration_keeps_the_secret(
        self, client: Client, address: str, endpoint: Endpoint
    ) -> None:
        client.post(address, fields_of(client.get(address)) | {"secret": "x" * 16})
        assert sealing.unseal(Endpoint.objects.get().sealed_secret) == SECRET


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
