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


@pytest.fixture
def endpoint(chatbot: Chatbot) -> Any:
    return EndpointFactory(chatbot=chatbot)


@pytest.mark.proves("Event kinds/NEW_LEAD", "Body shapes/NEW_LEAD")
@pytest.mark.parametrize(
    ("settings", "given", "taken"),
    [
        pytest.param({}, CONTACT, ("Anna", "anna@example.com", "030"), id="everything"),
        pytest.param({}, {"visitorEmail": "a@b.c"}, ("", "a@b.c", ""), id="only an email address"),
        pytest.param({}, {"visitorPhone": "030"}, ("", "", "030"), id="only a phone number"),
        pytest.param({}, {"visitorName": "Anna"}, None, id="only a name"),
        pytest.param({}, {"visitorEmail": " \t"}, None, id="blank email address"),
        pytest.param({}, {"visitorPhone": "\u3000"}, None, id="blank phone number"),
        pytest.param(
            {},
            {"visitorPhone": "030", "visitorEmail": " ", "visitorName": " "},
            ("", "", "030"),
            id="blank email address and name",
        ),
        pytest.param({"enable_lead_collection": False}, CONTACT, None, id="collection is off"),
        pytest.param(
            {"customer_name_take": False},
            CONTACT,
            ("", "anna@example.com", "030"),
            id="names are not collected",
        ),
        pytest.param(
            {"customer_email_take": False},
            CONTACT,
            ("Anna", "", "030"),
            id="email addresses are not collected",
        ),
        pytest.param(
            {"customer_email_take": False, "customer_phone_take": False},
            CONTACT,
            None,
            id="only names are collected",
        ),
    ],
)
@pytest.mark.parametrize("way", ["created", "updated"])
def test_a_lead_contains_only_the_permitted_fields(
    api: Api,
    base: str,
    chatbot: Chatbot,
    endpoint: Any,
    settings: Any,
    given: Any,
    taken: Any,
    way: str,
) -> None:
    LeadSettingsFactory(chatbot=chatbot, **settings)
    begun = api.post(f"{base}/threads", given if way == "created" else {})
    thread_id = begun.json()["data"]["thread"]["id"]
    if way == "updated":
        api.patch(f"{base}/thread/update-thread", {"threadId": thread_id} | given)
    leads = [(lead.name, lead.email, lead.phone) for lead in Lead.objects.all()]
    assert leads == ([taken] if taken else [])
    assert [
        (one["leadDetails"]["name"], one["leadDetails"]["email"], one["leadDetails"]["phone"])
        for one in events("NEW_LEAD")
    ] == leads


def test_a_thread_has_one_lead_that_is_updated_and_one_event(
    api: Api, base: str, chatbot: Chatbot, endpoint: Any
) -> None:
    LeadSettingsFactory(chatbot=chatbot)
    thread = api.post(f"{base}/threads", CONTACT).json()["data"]["thread"]
    body = {"threadId": thread["id"], "visitorPhone": "040"}
    api.patch(f"{base}/thread/update-thread", body)
    lead = Lead.objects.get()
    assert (lead.phone, len(events("NEW_LEAD"))) == ("040", 1)
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
    api: Api, base: str, chatbot: Chatbot, endpoint: Any, blank: str, collects: bool
) -> None:
    settings = LeadSettingsFactory(chatbot=chatbot)
    ids = [
        api.post(f"{base}/threads", CONTACT | {"visitorId": "v"}).json()["data"]["thread"]["id"]
        for _ in range(2)
    ]
    api.post(f"{base}/threads", CONTACT | {"visitorId": "another"})
    settings.enable_lead_collection = collects
    settings.save()

    def update(**given: str) -> set[tuple[str, str, str]]:
        api.patch(f"{base}/thread/update-thread", {"threadId": ids[0]} | given)
        leads = Lead.objects.filter(thread__visitor__external_id="v")
        return set(leads.values_list("name", "email", "phone"))

    assert update(visitorEmail=blank) == {("Anna", "", "030")}
    assert update(visitorPhone=blank, visitorName=blank) == {("", "", "")}
    if collects:
        assert ("", "b@c.d", "") in update(visitorEmail="b@c.d")
    begun = api.post(f"{base}/threads", {"visitorId": "v", "visitorEmail": blank}).json()
    assert update() == {("", "", "")}
    untouched = Lead.objects.get(thread__visitor__external_id="another")
    assert (untouched.name, untouched.email, untouched.phone) == tuple(CONTACT.values())
    assert not Lead.objects.filter(thread=begun["data"]["thread"]["id"]).exists()
    assert len(events("NEW_LEAD")) == 3


def test_an_escalation_contains_no_withdrawn_contact_details(
    api: Api, base: str, chatbot: Chatbot, endpoint: Any
) -> None:
    LeadSettingsFactory(chatbot=chatbot)
    thread = api.post(f"{base}/threads", CONTACT).json()["data"]["thread"]["id"]
    gone = {"threadId": thread, "visitorEmail": "", "visitorPhone": " "}
    api.patch(f"{base}/thread/update-thread", gone)
    api.patch(f"{base}/thread/{thread}/escalate")
    [event] = events("CONVERSATION_ESCALATED")
    assert (event["user"], event["leadInfo"]) == (None, None)


@pytest.mark.parametrize("on", [True, False])
def test_every_notification_address_gets_an_email_if_enabled(
    api: Api, base: str, chatbot: Chatbot, on: bool
) -> None:
    addresses = ["sales@example.com", "boss@example.com"]
    LeadSettingsFactory(chatbot=chatbot, lead_notification=on, lead_notification_email=addresses)
    api.post(f"{base}/threads", CONTACT | {"visitorName": "Anna\r\nBcc: x@example.com"})
    mails = Mail.objects.order_by("to")
    assert [mail.to for mail in mails] == (sorted(addresses) if on else [])
    for mail in mails:
        assert (mail.state, mail.account) == ("PENDING", chatbot.account)
        assert "\n" not in mail.subject
        assert "anna@example.com" in mail.body


@pytest.mark.parametrize("auto", [True, False])
def test_a_lead_escalates_the_thread_if_enabled(
    api: Api, base: str, chatbot: Chatbot, endpoint: Any, auto: bool
) -> None:
    LeadSettingsFactory(chatbot=chatbot, auto_escalate_on_lead_capture=auto)
    thread = api.post(f"{base}/threads", CONTACT).json()["data"]["thread"]
    assert thread["escalated"] is auto
    body = {"threadId": thread["id"], "visitorName": "Anna B."}
    api.patch(f"{base}/thread/update-thread", body)
    told = events("CONVERSATION_ESCALATED")
    assert len(told) == auto
    if auto:
        assert told[0]["leadInfo"] == {"name": "Anna", "email": "anna@example.com", "phone": "030"}
        assert [m.system_message_type for m in Message.objects.all()] == ["CONVERSATION_ESCALATED"]
