from typing import Any

import pytest

from accounts.models import Mail
from chatbots.models import Chatbot
from conversations.models import Lead, Message
from tests.conftest import Api
from tests.conversations.events import events
from tests.factories.chatbots import LeadSettingsFactory
from tests.factories.webhooks import EndpointFactory

pytestmark = pytest.mark.proves("Event kinds", "Body shapes", "Lead settings")

CONTACT = {"visitorName": "Anna", "visitorEmail": "anna@example.com", "visitorPhone": "030"}


@pytest.fixture(autouse=True)
def endpoint(chatbot: Chatbot) -> None:
    EndpointFactory(chatbot=chatbot)


def begin(api: Api, base: str, **given: Any) -> Any:
    return api.post(f"{base}/threads", given).json()["data"]["thread"]


def update(api: Api, base: str, thread: Any, **given: str) -> None:
    body = {"threadId": thread["id"]} | given
    assert api.patch(f"{base}/thread/update-thread", body).status_code == 200


@pytest.mark.proves("Event kinds/NEW_LEAD", "Body shapes/NEW_LEAD")
@pytest.mark.parametrize(
    ("settings", "given", "taken"),
    [
        ({}, CONTACT, ("Anna", "anna@example.com", "030")),
        ({}, {"visitorEmail": "a@b.c"}, ("", "a@b.c", "")),
        ({}, {"visitorPhone": "030"}, ("", "", "030")),
        ({}, {"visitorName": "Anna"}, None),
        ({}, {"visitorEmail": " \t"}, None),
        ({}, {"visitorPhone": "\u3000"}, None),
        ({}, {"visitorPhone": "030", "visitorEmail": " ", "visitorName": " "}, ("", "", "030")),
        ({"enable_lead_collection": False}, CONTACT, None),
        ({"customer_name_take": False}, CONTACT, ("", "anna@example.com", "030")),
        ({"customer_email_take": False}, CONTACT, ("Anna", "", "030")),
        ({"customer_email_take": False, "customer_phone_take": False}, CONTACT, None),
    ],
)
@pytest.mark.parametrize("way", ["created", "updated"])
def test_a_lead_contains_only_the_permitted_fields(
    api: Api, base: str, chatbot: Chatbot, settings: Any, given: Any, taken: Any, way: str
) -> None:
    LeadSettingsFactory(chatbot=chatbot, **settings)
    thread = begin(api, base, **(given if way == "created" else {}))
    if way == "updated":
        update(api, base, thread, **given)
    leads = list(Lead.objects.values_list("name", "email", "phone"))
    assert leads == ([taken] if taken else [])
    told = [one["leadDetails"] for one in events("NEW_LEAD")]
    assert [(one["name"], one["email"], one["phone"]) for one in told] == leads


def test_a_thread_has_one_lead_that_is_updated_and_one_event(
    api: Api, base: str, chatbot: Chatbot
) -> None:
    LeadSettingsFactory(chatbot=chatbot)
    update(api, base, begin(api, base, **CONTACT), visitorPhone="040")
    lead = Lead.objects.get()
    assert lead.phone == "040"
    [event] = events("NEW_LEAD")
    assert event == {
        "chatbotId": str(chatbot.pk),
        "chatbotName": chatbot.name,
        "leadDetails": {
            "id": str(lead.pk),
            "name": "Anna",
            "email": "anna@example.com",
            "phone": "030",
            "capturedAt": event["leadDetails"]["capturedAt"],
        },
    }


@pytest.mark.parametrize("collects", [True, False])
@pytest.mark.parametrize("blank", ["", "  "])
def test_withdrawn_contact_details_are_removed_from_the_lead_without_another_event(
    api: Api, base: str, chatbot: Chatbot, blank: str, collects: bool
) -> None:
    settings = LeadSettingsFactory(chatbot=chatbot)
    thread, _ = (begin(api, base, visitorId="v", **CONTACT) for _ in range(2))
    begin(api, base, visitorId="another", **CONTACT)
    settings.enable_lead_collection = collects
    settings.save()

    def updated(**given: str) -> set[tuple[str, str, str]]:
        update(api, base, thread, **given)
        leads = Lead.objects.filter(thread__visitor__external_id="v")
        return set(leads.values_list("name", "email", "phone"))

    assert updated(visitorEmail=blank) == {("Anna", "", "030")}
    assert updated(visitorPhone=blank, visitorName=blank) == {("", "", "")}
    if collects:
        assert ("", "b@c.d", "") in updated(visitorEmail="b@c.d")
    begun = begin(api, base, visitorId="v", visitorEmail=blank)
    assert updated() == {("", "", "")}
    untouched = Lead.objects.get(thread__visitor__external_id="another")
    assert (untouched.name, untouched.email, untouched.phone) == tuple(CONTACT.values())
    assert not Lead.objects.filter(thread=begun["id"]).exists()
    assert len(events("NEW_LEAD")) == 3


def test_an_escalation_contains_no_withdrawn_contact_details(
    api: Api, base: str, chatbot: Chatbot
) -> None:
    LeadSettingsFactory(chatbot=chatbot)
    thread = begin(api, base, **CONTACT)
    update(api, base, thread, visitorEmail="", visitorPhone=" ")
    api.patch(f"{base}/thread/{thread['id']}/escalate")
    [event] = events("CONVERSATION_ESCALATED")
    assert (event["user"], event["leadInfo"]) == (None, None)


@pytest.mark.parametrize("on", [True, False])
def test_every_notification_address_gets_an_email_if_enabled(
    api: Api, base: str, chatbot: Chatbot, on: bool
) -> None:
    addresses = ["boss@example.com", "sales@example.com"]
    LeadSettingsFactory(chatbot=chatbot, lead_notification=on, lead_notification_email=addresses)
    begin(api, base, **CONTACT | {"visitorName": "Anna\r\nBcc: x@example.com"})
    mails = Mail.objects.order_by("to")
    assert [mail.to for mail in mails] == (addresses if on else [])
    for mail in mails:
        assert (mail.state, mail.account) == ("PENDING", chatbot.account)
        assert "\n" not in mail.subject
        assert "anna@example.com" in mail.body


@pytest.mark.parametrize("auto", [True, False])
def test_a_lead_escalates_the_thread_if_enabled(
    api: Api, base: str, chatbot: Chatbot, auto: bool
) -> None:
    LeadSettingsFactory(chatbot=chatbot, auto_escalate_on_lead_capture=auto)
    thread = begin(api, base, **CONTACT)
    assert thread["escalated"] is auto
    update(api, base, thread, visitorName="Anna B.")
    lead = {"name": "Anna", "email": "anna@example.com", "phone": "030"}
    assert [one["leadInfo"] for one in events("CONVERSATION_ESCALATED")] == [lead] * auto
    kinds = [message.system_message_type for message in Message.objects.all()]
    assert kinds == ["CONVERSATION_ESCALATED"] * auto
