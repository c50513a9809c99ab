"""Threads are created and updated, and their `anonymous` flag stays correct.

If a request sets the flag, it keeps that value until a later change to the thread gives the visitor
a first email address or phone number, or removes the last one.
"""

from typing import Any

import pytest

from chatbots.access import ChatbotNotFound
from chatbots.models import Chatbot
from chatbots.services.chatbot import erase_chatbot
from conversations.models import Lead, Thread, Visitor
from conversations.services import threads
from tests.conftest import Api
from tests.factories.chatbots import LeadSettingsFactory

pytestmark = pytest.mark.proves("Threads and messages", "Thread")


def begin(api: Api, base: str, **given: Any) -> Any:
    return api.post(f"{base}/threads", {"visitorId": "v"} | given).json()["data"]["thread"]


def update(api: Api, base: str, thread: Any, **given: Any) -> bool:
    body = {"threadId": thread["id"]} | given
    answer = api.patch(f"{base}/thread/update-thread", body).json()["data"]["thread"]
    here = f"{base}/thread/{thread['id']}"
    shown = {
        answer["anonymous"],
        api.get(here).json()["data"]["thread"]["anonymous"],
        api.get(f"{here}/messages").json()["data"]["thread"]["anonymous"],
    }
    assert len(shown) == 1
    return shown.pop()


def test_contact_details_end_anonymity_and_their_removal_restores_it(api: Api, base: str) -> None:
    thread = begin(api, base)
    other = begin(api, base)
    assert (thread["anonymous"], other["anonymous"]) == (True, True)
    for given, anonymous in (
        ({"visitorName": "Anna"}, True),
        ({"visitorEmail": "  "}, True),
        ({"visitorPhone": "030"}, False),
        ({"visitorEmail": "a@b.c"}, False),
        ({"visitorPhone": ""}, False),
        ({"visitorEmail": " \n"}, True),
    ):
        assert update(api, base, thread, **given) is anonymous, given
        assert update(api, base, other) is anonymous, "the visitor's other thread changes, too"


@pytest.mark.parametrize("given", [True, False])
def test_the_given_value_holds_until_the_contact_details_change(
    api: Api, base: str, given: bool
) -> None:
    contact = {"visitorEmail": "a@b.c"} if given else {}
    thread = begin(api, base, anonymous=given, **contact)
    assert thread["anonymous"] is given
    assert update(api, base, thread, title="new", visitorName="Anna") is given
    changed = {"visitorEmail": "" if given else "a@b.c"}
    update(api, base, thread, **changed)
    assert update(api, base, thread, visitorEmail="a@b.c") is False


@pytest.mark.parametrize("contact", [{}, {"visitor_email": "a@b.c"}], ids=["none", "email"])
def test_a_chatbot_that_is_erased_meanwhile_gets_no_thread(
    chatbot: Chatbot, contact: dict[str, str]
) -> None:
    LeadSettingsFactory(chatbot=chatbot)
    erase_chatbot(chatbot)
    with pytest.raises(ChatbotNotFound):
        threads.create(chatbot.pk, {"visitor_id": "v", **contact})
    for model in (Thread, Visitor, Lead):
        assert not model._base_manager.exists()


def test_an_update_without_changes_is_not_activity(api: Api, base: str) -> None:
    thread = begin(api, base)
    began = Thread.objects.get().updated_at
    update(api, base, thread)
    update(api, base, thread, unknown=1)
    assert Thread.objects.get().updated_at == began
    update(api, base, thread, visitorName="Anna")
    assert Thread.objects.get().updated_at > began
