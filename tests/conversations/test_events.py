import json
import re
from typing import Any

import pytest

from accounts.models import Account, Mail
from chatbots.models import Chatbot
from conversations.models import Message, Thread
from conversations.services import agent_message, escalation
from tests.conftest import Api
from tests.conversations.conftest import Send
from tests.conversations.events import events
from tests.factories.accounts import UserFactory
from tests.factories.chatbots import FollowUpPromptFactory
from tests.factories.webhooks import EndpointFactory
from webhooks.models import Delivery, Endpoint

pytestmark = pytest.mark.proves("Event kinds", "Body shapes")

TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


@pytest.fixture(autouse=True)
def endpoint(chatbot: Chatbot) -> Endpoint:
    return EndpointFactory(chatbot=chatbot)


@pytest.mark.proves("Event kinds/NEW_MESSAGE", "Body shapes/NEW_MESSAGE")
def test_user_and_ai_messages_are_recorded_in_order(
    send: Send, thread: Thread, chatbot: Chatbot
) -> None:
    asked, replied = send("What does it cost?")
    common = {"chatbotId": str(chatbot.pk), "threadId": str(thread.pk), "sources": []}
    question = {"role": "user", "question": asked["content"], "answer": None}
    answer = {"role": "assistant", "question": None, "answer": replied["content"]}
    assert events("NEW_MESSAGE") == [
        common | {"messageId": made["id"], "createdAt": made["createdAt"]} | said
        for made, said in ((asked, question), (replied, answer))
    ]
    assert list(json.loads(bytes(Delivery.objects.first().body))) == ["event", "data"]


@pytest.mark.proves("Event kinds/NEW_MESSAGE", "Body shapes/NEW_MESSAGE")
def test_an_agent_message_is_recorded_and_system_messages_are_not(thread: Thread) -> None:
    agent_message.answer(thread.pk, agent=UserFactory(name="Kim"), content="Hello, Kim here")
    [told] = events("NEW_MESSAGE")
    assert (told["role"], told["question"], told["answer"]) == ("agent", None, "Hello, Kim here")
    assert Message.objects.filter(message_type="SYSTEM_MESSAGE").count() == 1


def test_a_takeover_or_a_return_by_staff_records_no_escalation_event(thread: Thread) -> None:
    escalation.take_over(thread.pk, agent=UserFactory())
    escalation.return_to_ai(thread.pk)
    assert not events("CONVERSATION_ESCALATED")


@pytest.mark.proves("Event kinds/CONVERSATION_ESCALATED")
def test_each_change_to_escalated_is_recorded_once(api: Api, here: str) -> None:
    for _ in range(5):
        api.patch(f"{here}/escalate")
    assert len(events("CONVERSATION_ESCALATED")) == 3


@pytest.mark.proves("Body shapes/CONVERSATION_ESCALATED")
def test_an_escalation_without_contact_information_has_no_user(
    api: Api, here: str, thread: Thread
) -> None:
    thread.visitor.name = "Only a name"
    thread.visitor.save()
    api.post(f"{here}/escalate")
    assert events("CONVERSATION_ESCALATED") == [
        {
            "chatbotId": str(thread.chatbot_id),
            "threadId": str(thread.pk),
            "dashboardUrl": f"http://127.0.0.1:8000/admin/conversations/thread/{thread.pk}/change/",
            "user": None,
            "leadInfo": None,
        }
    ]


@pytest.mark.proves("Body shapes/CONVERSATION_ESCALATED")
def test_an_escalation_contains_the_visitor(api: Api, here: str, thread: Thread) -> None:
    thread.visitor.email = "anna@example.com"
    thread.visitor.save()
    api.post(f"{here}/escalate")
    [told] = events("CONVERSATION_ESCALATED")
    assert TIMESTAMP.fullmatch(told["user"].pop("createdAt"))
    assert told["user"] == {
        "id": thread.visitor.external_id,
        "email": "anna@example.com",
        "name": "",
        "phone": "",
        "verified": False,
    }


def test_an_escalation_prompt_is_recorded_after_its_message(send: Send, chatbot: Chatbot) -> None:
    FollowUpPromptFactory(chatbot=chatbot, esclate=True, button_message="A person")
    send("A person")
    kinds = Delivery.objects.order_by("created_at", "id").values_list("event", flat=True)
    assert list(kinds) == ["NEW_MESSAGE", "CONVERSATION_ESCALATED"]


@pytest.mark.parametrize(
    "change",
    [
        lambda: Endpoint.objects.update(is_active=False),
        lambda: Endpoint.objects.update(events=["NEW_LEAD"]),
        lambda: Endpoint.objects.all().delete(),
        lambda: Account.objects.update(webhooks_enabled=False),
    ],
    ids=["switched off", "not subscribed", "no webhook", "no add-on"],
)
def test_without_a_receiver_no_event_is_recorded(send: Send, change: Any) -> None:
    change()
    send()
    assert not Delivery.objects.exists()


@pytest.mark.parametrize("wanted", [None, True, False])
def test_the_owner_gets_an_email_about_an_escalation_unless_the_account_has_turned_it_off(
    api: Api, here: str, chatbot: Chatbot, wanted: bool | None
) -> None:
    owner = chatbot.account.owner
    if wanted is not None:
        Account.objects.update(mail_on_escalation=wanted)
    api.patch(f"{here}/escalate")
    api.patch(f"{here}/escalate")
    assert [mail.to for mail in Mail.objects.all()] == (
        [owner.email] if wanted is not False else []
    )
