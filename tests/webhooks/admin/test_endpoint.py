"""The page of a chatbot's webhook."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import Account
from chatbots.models import Chatbot
from tests.factories.accounts import MembershipFactory
from tests.factories.chatbots import ChatbotMemberFactory
from tests.factories.staff import ACCOUNT_ADMINS, AGENTS, signed_in, staff, superuser
from tests.factories.webhooks import SECRET, EndpointFactory
from tests.pages import fields_of
from webhooks import sealing
from webhooks.models import Delivery, Endpoint
from webhooks.models.endpoint import all_events

URL = "https://127.0.0.1:9/hook"
SINCE = datetime(2026, 3, 1, 8, 30, tzinfo=UTC)
SHOWN = re.compile(r'id="secret-text"[^>]* value="([^"]+)"')


@pytest.fixture
def client(chatbot: Chatbot) -> Client:
    return signed_in(staff(chatbot.account.owner, ACCOUNT_ADMINS))


@pytest.fixture
def member(chatbot: Chatbot) -> Client:
    user = MembershipFactory(account=chatbot.account).user
    ChatbotMemberFactory(chatbot=chatbot, user=user)
    return signed_in(staff(user, AGENTS))


@pytest.fixture
def address(chatbot: Chatbot) -> str:
    return reverse("admin:webhooks_endpoint_of", args=[chatbot.pk])


def given(**changes: Any) -> dict[str, Any]:
    """Return the form's values."""
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


def test_a_new_webhook_defaults_to_all_events_and_a_generated_secret(
    client: Client, address: str
) -> None:
    fields = fields_of(client.get(address))
    assert set(fields["events"]) == {"NEW_MESSAGE", "CONVERSATION_ESCALATED", "NEW_LEAD"}
    assert (fields["secret_choice"], fields["is_active"]) == ("make", "on")


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
        ({"url": "http://127.0.0.1:9/hook"}, "https"),
        ({"url": ""}, "required"),
        ({"events": []}, "required"),
        ({"events": ["NEW_MOON"]}, "not one of the available choices"),
        ({"secret_choice": "own", "secret": "x" * 15}, "secret must have at least 16 characters"),
        ({"secret_choice": "own", "secret": ""}, "Enter the secret"),
        ({"secret": "x" * 16}, "Choose &quot;Use my own&quot;, or clear this field"),
        ({"secret_choice": "keep"}, "not one of the available choices"),
    ],
)
def test_an_invalid_configuration_is_rejected_and_the_input_is_kept(
    client: Client, address: str, changes: dict[str, Any], fault: str
) -> None:
    page = client.post(address, given(**changes))
    assert page.status_code == 200
    assert fault in page.content.decode()
    assert not Endpoint.objects.exists()


def test_a_typed_secret_without_its_choice_is_questioned_and_not_shown_again(
    client: Client, address: str, chatbot: Chatbot
) -> None:
    EndpointFactory(chatbot=chatbot)
    text = client.post(address, given(secret_choice="keep", secret="typed-but-not-meant")).content
    assert b"Choose &quot;Use my own&quot;, or clear this field" in text
    assert b"typed-but-not-meant" not in text
    endpoint = Endpoint.objects.get()
    assert (endpoint.events, sealing.unseal(endpoint.sealed_secret)) == (all_events(), SECRET)


def test_a_custom_secret_of_sixteen_characters_is_accepted(client: Client, address: str) -> None:
    client.post(address, given(secret_choice="own", secret="x" * 16))
    assert sealing.unseal(Endpoint.objects.get().sealed_secret) == "x" * 16


def test_without_the_add_on_the_page_is_read_only_and_gives_the_reason(
    client: Client, address: str, chatbot: Chatbot
) -> None:
    EndpointFactory(chatbot=chatbot)
    Account.objects.update(webhooks_enabled=False)
    text = client.get(address).content.decode()
    assert "webhooks are an add-on" in text
    assert 'name="url"' not in text
    assert client.post(address, given()).status_code == 403
    assert Endpoint.objects.get().url == URL


def test_a_member_can_change_the_events_but_not_the_secret_or_the_url(
    member: Client, address: str, chatbot: Chatbot
) -> None:
    """A member who could choose the receiver's address would be sent the secret."""
    EndpointFactory(chatbot=chatbot)
    elsewhere = {"url": "https://127.0.0.2:9/elsewhere", "secret_choice": "keep"}
    assert member.post(address, given(**elsewhere)).status_code == 302
    endpoint = Endpoint.objects.get()
    assert (endpoint.url, endpoint.events) == (URL, ["NEW_LEAD"])
    assert member.post(address, given()).status_code == 200  # refused: the choice is not offered
    assert sealing.unseal(Endpoint.objects.get().sealed_secret) == SECRET


def test_a_sample_is_sent_as_a_test(client: Client, address: str, chatbot: Chatbot) -> None:
    EndpointFactory(chatbot=chatbot)
    test = reverse("admin:webhooks_endpoint_test", args=[chatbot.pk])
    answer = client.post(test, {"event": "NEW_LEAD"})
    delivery = Delivery.objects.get()
    assert (delivery.is_test, delivery.event) == (True, "NEW_LEAD")
    assert answer["Location"] == reverse("admin:webhooks_delivery_change", args=[delivery.pk])
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


@pytest.mark.parametrize("event", ["", "NEW_MOON"])
def test_a_sample_of_an_unknown_event_is_rejected(
    client: Client, address: str, chatbot: Chatbot, event: str
) -> None:
    EndpointFactory(chatbot=chatbot)
    test = reverse("admin:webhooks_endpoint_test", args=[chatbot.pk])
    page = client.post(test, {"event": event}, follow=True)
    assert "Not sent" in page.content.decode()
    assert not Delivery.objects.exists()


def test_reloading_the_secrets_page_generates_no_other_secret(
    client: Client, address: str, chatbot: Chatbot
) -> None:
    form = fields_of(client.get(address)) | {"url": URL}
    [secret] = SHOWN.findall(client.post(address, form).content.decode())
    again = client.post(address, form)
    assert (again.status_code, again["Location"]) == (302, address)
    assert sealing.unseal(Endpoint.objects.get(chatbot=chatbot).sealed_secret) == secret


def states_of(client: Client, query: str = "") -> list[str]:
    """Return the states in the list."""
    text = client.get(reverse("admin:webhooks_endpoint_changelist") + query).content.decode()
    return sorted(
        re.findall(r">\s*(healthy|untried|failing|off|secret cannot be decrypted)\s*</span>", text)
    )


class TestHealth:
    """The receiver's health, on its page and in the list."""

    @pytest.fixture
    def endpoint(self, chatbot: Chatbot) -> Endpoint:
        return EndpointFactory(chatbot=chatbot)

    @pytest.mark.parametrize(
        ("fields", "state"),
        [
            ({"last_success_at": SINCE}, "healthy"),
            ({}, "untried"),
            ({"failing_since": SINCE}, "failing"),
            ({"failing_since": SINCE, "is_active": False}, "off"),
            ({"is_active": False}, "off"),
            ({"sealed_secret": "not sealed with any key"}, "secret cannot be decrypted"),
        ],
    )
    def test_one_word_describes_the_state(
        self, client: Client, address: str, endpoint: Endpoint, fields: dict[str, Any], state: str
    ) -> None:
        Endpoint.objects.update(**fields)
        assert states_of(client) == [state]
        assert f">{state}</span>" in client.get(address).content.decode()

    @pytest.mark.parametrize(
        ("query", "states"),
        [
            ("", ["failing", "healthy", "off", "untried"]),
            ("?state=failing", ["failing"]),
            ("?state=healthy", ["healthy"]),
            ("?state=untried", ["untried"]),
            ("?state=off", ["off"]),
            ("?state=nonsense", ["failing", "healthy", "off", "untried"]),
        ],
    )
    def test_the_list_can_be_filtered_by_state(
        self, chatbot: Chatbot, query: str, states: list[str]
    ) -> None:
        EndpointFactory(chatbot=chatbot, failing_since=SINCE)
        EndpointFactory(failing_since=SINCE, is_active=False)
        EndpointFactory(last_success_at=SINCE)
        EndpointFactory()
        assert states_of(signed_in(superuser()), query) == states

    def test_the_page_of_an_untried_endpoint_shows_no_success_and_no_failure(
        self, client: Client, address: str, endpoint: Endpoint
    ) -> None:
        text = client.get(address).content.decode()
        assert "Last success</dt><dd>none at this URL yet</dd>" in text
        assert "Failing since</dt><dd>-</dd>" in text

    def test_the_page_shows_when_the_failures_began_and_when_the_owner_was_notified(
        self, client: Client, address: str, endpoint: Endpoint
    ) -> None:
        assert "Owner notified" not in client.get(address).content.decode()
        Endpoint.objects.update(
            failing_since=SINCE, failures_in_a_row=12, owner_told_at=SINCE + timedelta(hours=1)
        )
        text = client.get(address).content.decode()
        assert "2026-03-01 08:30 UTC</time>, 12 in a row" in text
        assert re.search(r"Owner notified</dt><dd><time [^>]*>2026-03-01 09:30 UTC<", text)

    def test_the_page_of_an_unreadable_secret_says_what_to_do(
        self, client: Client, address: str, endpoint: Endpoint
    ) -> None:
        assert "Replace the secret" not in client.get(address).content.decode()
        Endpoint.objects.update(sealed_secret="not sealed with any key")
        assert (
            "Replace the secret: no key of this service can decrypt"
            in client.get(address).content.decode()
        )
        client.post(address, given())
        assert states_of(client) == ["untried"]
