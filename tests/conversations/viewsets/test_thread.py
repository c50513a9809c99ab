import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from chatbots.models import Appearance, Chatbot
from conversations.models import Thread, Visitor
from tests.conftest import Api
from tests.conversations.shapes import DETAILS, MESSAGE, THREAD, check
from tests.factories.chatbots import ChatbotFactory, LlmModelFactory
from tests.factories.conversations import MessageFactory, ThreadFactory
from tests.factories.webhooks import EndpointFactory

pytestmark = pytest.mark.proves("Threads and messages", "Thread", "Endpoints named without shape")


@pytest.mark.proves("Endpoints named without shape/create-thread", "Thread/record")
def test_a_thread_can_be_created_with_an_empty_body(api: Api, base: str, chatbot: Chatbot) -> None:
    answer = api.post(f"{base}/threads")
    thread = answer.json()["data"]["thread"]
    assert (answer.status_code, answer.json()["message"]) == (200, "success")
    check(thread, THREAD)
    uuid.UUID(thread["visitorId"])
    assert (thread["chatbotId"], thread["title"], thread["anonymous"]) == (
        str(chatbot.pk),
        "",
        True,
    )


@pytest.mark.proves("Endpoints named without shape/create-thread")
def test_a_thread_is_stored_as_given(api: Api, base: str) -> None:
    given = {
        "visitorId": "  my visitor ✓ ",
        "title": "About an order",
        "anonymous": True,
        "platformSource": "ios",
        "tags": ["vip", "order"],
        "visitorName": "Anna",
        "visitorEmail": "anna@example.com",
        "visitorPhone": "+49 30 1",
    }
    thread = api.post(f"{base}/threads", given).json()["data"]["thread"]
    assert {name: thread[name] for name in given} == given


@pytest.mark.parametrize(
    ("body", "path"),
    [
        *(({"visitorId": bad}, ["visitorId"]) for bad in (5, " ", "x" * 256)),
        *(({"title": bad}, ["title"]) for bad in (None, "😀" * 256)),
        *(({"anonymous": bad}, ["anonymous"]) for bad in ("true", 1)),
        *(({"tags": "vip"}, ["tags"]), ({"tags": ["ok", 5]}, ["tags", "1"])),
        ({"visitorEmail": ["a@b.c"]}, ["visitorEmail"]),
    ],
)
def test_a_bad_field_is_named_and_no_thread_is_created(
    api: Api, base: str, body: Any, path: list[str]
) -> None:
    answer = api.post(f"{base}/threads", body)
    assert (answer.status_code, [e["path"] for e in answer.json()["errors"]]) == (400, [path])
    assert not Thread.objects.exists()
    assert not Visitor.objects.exists()


def test_too_many_items_cause_one_error(api: Api, base: str) -> None:
    answer = api.post(f"{base}/threads", {"tags": [1] * 9_000})
    assert answer.status_code == 400
    assert answer.json()["errors"] == [{"path": ["tags"], "message": "Must have at most 100 items"}]


def test_a_returning_visitor_is_recognized(api: Api, base: str) -> None:
    first = api.post(f"{base}/threads", {"visitorId": "v", "visitorName": "Anna"}).json()
    second = api.post(f"{base}/threads", {"visitorId": "v"}).json()
    assert second["data"]["thread"]["visitorName"] == "Anna"
    assert first["data"]["thread"]["id"] != second["data"]["thread"]["id"]
    details = api.get(f"{base}/thread/{second['data']['thread']['id']}").json()["data"]["thread"]
    assert details["visitorTotalSessions"] == 2


def test_a_visitor_id_is_unique_within_each_chatbot(api: Api, base: str, chatbot: Chatbot) -> None:
    other = ChatbotFactory(account=chatbot.account)
    api.post(f"{base}/threads", {"visitorId": "v", "visitorName": "Anna"})
    there = api.post(f"/v1/chatting/{other.pk}/threads", {"visitorId": "v"}).json()
    assert there["data"]["thread"]["visitorName"] == ""


def test_an_inactive_chatbot_creates_no_thread(api: Api, base: str) -> None:
    Chatbot.objects.update(is_active=False)
    answer = api.post(f"{base}/threads", {"title": 5})
    assert (answer.status_code, answer.json()["message"]) == (403, "chatbot is not active")


def test_icons_and_model_are_those_of_the_chatbot(
    api: Api, base: str, chatbot: Chatbot, default_model: Any
) -> None:
    Appearance.objects.update(bot_icon_src="https://x.example/b.png")
    chosen = LlmModelFactory(title="Chosen", provider="openai")
    thread = api.post(f"{base}/threads").json()["data"]["thread"]
    assert thread["botIconSrc"] == "https://x.example/b.png"
    assert thread["llmModel"]["id"] == str(default_model.pk)
    chatbot.generalsettings.llm_model = chosen
    chatbot.generalsettings.save()
    thread = api.post(f"{base}/threads").json()["data"]["thread"]
    assert thread["llmModel"] == {"id": str(chosen.pk), "provider": "openai", "title": "Chosen"}
    chosen.is_active = False
    chosen.save()
    thread = api.post(f"{base}/threads").json()["data"]["thread"]
    assert thread["llmModel"]["id"] == str(default_model.pk)


@pytest.mark.proves("Threads and messages/details", "Thread/details")
def test_details_have_their_own_shape(api: Api, here: str, thread: Thread) -> None:
    thread.visitor.phone = "030"
    thread.visitor.save()
    details = api.get(here).json()["data"]["thread"]
    check(details, DETAILS)
    assert (details["visitorPhoneNumber"], details["visitorIsIdentified"]) == ("030", True)
    assert (details["webhookUrl"], details["webhookToken"]) == ("", "")


def test_details_show_the_webhook_with_its_token_masked(
    api: Api, here: str, chatbot: Chatbot
) -> None:
    EndpointFactory(chatbot=chatbot, url="https://hooks.example/in", secret="0123456789abcdefWXYZ")
    details = api.get(here).json()["data"]["thread"]
    assert (details["webhookUrl"], details["webhookToken"]) == (
        "https://hooks.example/in",
        "****WXYZ",
    )


@pytest.mark.parametrize(
    "thread_id", ["0199d7a0-0000-7000-8000-000000000000", "not-a-uuid", "1", "update-thread"]
)
def test_an_unknown_thread_is_a_404(api: Api, base: str, thread_id: str) -> None:
    answer = api.get(f"{base}/thread/{thread_id}/messages")
    assert (answer.status_code, answer.json()["success"]) == (404, False)


class TestList:
    @pytest.mark.proves("Endpoints named without shape/list-threads")
    def test_the_latest_activity_comes_first(self, api: Api, base: str, chatbot: Chatbot) -> None:
        first, second = ThreadFactory.create_batch(2, chatbot=chatbot)
        api.post(f"{base}/thread/{first.pk}/message", {"content": "again"})
        listed = api.get(f"{base}/threads").json()["data"]
        assert [one["id"] for one in listed["threads"]] == [str(first.pk), str(second.pk)]
        check(listed["threads"][0], THREAD)

    @pytest.mark.proves(
        "Endpoints named without shape/list-threads", "Pagination (list endpoints)/figures"
    )
    def test_the_pagination_figures_are_correct(
        self, api: Api, base: str, chatbot: Chatbot
    ) -> None:
        ThreadFactory.create_batch(5, chatbot=chatbot)
        ThreadFactory()
        seen = []
        for page, size in ((1, 2), (2, 2), (3, 1), (4, 0)):
            data = api.get(f"{base}/threads?limit=2&page={page}").json()["data"]
            assert data["pagination"] == {"page": page, "limit": 2, "total": 5, "pages": 3}
            assert len(data["threads"]) == size
            seen += [one["id"] for one in data["threads"]]
        assert len(set(seen)) == 5

    @pytest.mark.parametrize(
        "query", ["limit=0", "limit=101", "limit=x", "page=0", "page=-1", "page=1.5"]
    )
    def test_a_page_out_of_bounds_is_rejected(self, api: Api, base: str, query: str) -> None:
        answer = api.get(f"{base}/threads?{query}")
        assert (answer.status_code, answer.json()["message"]) == (400, "request body is not valid")
        assert [error["path"] for error in answer.json()["errors"]] == [[query.split("=")[0]]]


class TestUpdate:
    @pytest.fixture
    def update(self, api: Api, base: str, thread: Thread) -> Callable[..., Any]:
        """Return a function that changes a thread and returns the thread of the response."""

        def updated(**changes: Any) -> Any:
            body = {"threadId": str(thread.pk)} | changes
            return api.patch(f"{base}/thread/update-thread", body).json()["data"]["thread"]

        return updated

    @pytest.mark.proves("Endpoints named without shape/update-thread")
    def test_only_provided_fields_are_changed(self, update: Callable[..., Any]) -> None:
        changes = {"title": "New", "important": True, "archived": True, "tags": ["a"]}
        changes |= {"visitorName": "Anna", "visitorEmail": "a@b.c", "visitorPhone": "1"}
        after = update(**changes)
        check(after, THREAD)
        for shown in (after, update()):
            assert {name: shown[name] for name in changes} == changes

    def test_internal_notes_are_shown_only_in_the_details(
        self, api: Api, here: str, update: Callable[..., Any]
    ) -> None:
        assert "internalNotes" not in update(internalNotes="be nice")
        assert api.get(here).json()["data"]["thread"]["internalNotes"] == "be nice"

    def test_a_resolved_thread_has_an_end_and_a_reopened_one_has_none(
        self, update: Callable[..., Any]
    ) -> None:
        ended = update(resolved=True)["endedAt"]
        assert datetime.now(UTC) - datetime.fromisoformat(ended) < timedelta(minutes=1)
        assert update(resolved=True)["endedAt"] == ended
        assert update(resolved=False)["endedAt"] is None

    @pytest.mark.parametrize(
        ("body", "message"),
        [
            ({}, "Required"),
            ({"threadId": None}, "Expected string"),
            ({"threadId": 7}, "Expected string"),
        ],
    )
    def test_the_thread_id_is_required(self, api: Api, base: str, body: Any, message: str) -> None:
        answer = api.patch(f"{base}/thread/update-thread", body)
        assert answer.status_code == 400
        assert answer.json()["errors"] == [{"path": ["threadId"], "message": message}]


class TestEscalate:
    @pytest.mark.proves("Threads and messages/escalate", "States and transitions/Thread.escalated")
    @pytest.mark.parametrize("verb", ["PATCH", "POST"])
    def test_each_call_flips_the_flag_and_adds_a_system_message(
        self, api: Api, here: str, thread: Thread, verb: str
    ) -> None:
        MessageFactory(thread=thread)
        for escalated, kind, text in (
            (True, "CONVERSATION_ESCALATED", "escalatedToHumanAgent"),
            (False, "CONVERSATION_RETURNED_TO_AI", "returnedToAi"),
            (True, "CONVERSATION_ESCALATED", "escalatedToHumanAgent"),
        ):
            data = api.call(verb, f"{here}/escalate").json()["data"]
            check(data["thread"], THREAD)
            check(data["systemMessage"], MESSAGE)
            assert data["thread"]["escalated"] is escalated
            assert data["systemMessage"]["messageType"] == "SYSTEM_MESSAGE"
            assert data["systemMessage"]["systemMessageType"] == kind
            texts = thread.chatbot.localizations.get().complete_texts
            assert data["systemMessage"]["content"] == texts[text]
            newest = api.get(f"{here}/messages?limit=1").json()["data"]
            assert newest["messages"] == [data["systemMessage"]]
            assert newest["thread"]["mode"] == ("AGENT" if escalated else "AI")
