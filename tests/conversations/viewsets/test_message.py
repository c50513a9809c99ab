import uuid
from typing import Any

import pytest

from chatbots.models import Chatbot, GeneralSettings
from conversations.models import Message, Thread
from conversations.models.message import MessageType
from tests.conftest import Api
from tests.conversations.conftest import Send
from tests.conversations.shapes import MESSAGE, STATE, check
from tests.factories.chatbots import FollowUpPromptFactory
from tests.factories.conversations import MessageFactory, ThreadFactory

pytestmark = pytest.mark.proves("Threads and messages", "Message")


class TestSend:
    @pytest.mark.proves("Endpoints named without shape/send-message", "Message/record")
    def test_the_reply_is_in_the_response(self, api: Api, here: str, thread: Thread) -> None:
        answer = api.post(f"{here}/message", {"content": "What does delivery cost?"})
        data = answer.json()["data"]
        assert (answer.status_code, answer.json()["message"]) == (200, "success")
        asked, replied = data["messages"]
        for message in (asked, replied):
            check(message, MESSAGE)
        check(data["thread"], STATE)
        said = (asked["messageType"], asked["content"])
        assert said == ("USER_MESSAGE", "What does delivery cost?")
        assert (replied["messageType"], replied["parentMessageId"]) == ("AI_MESSAGE", asked["id"])
        assert replied["content"]
        assert replied["llmModelId"]
        assert data["thread"] == {
            "id": str(thread.pk),
            "mode": "AI",
            "anonymous": True,
            "unreadMessagesCount": 1,
        }

    def test_the_first_message_becomes_the_title(
        self, api: Api, here: str, send: Send, base: str
    ) -> None:
        send("😀" * 100)
        send("and more")
        [listed] = api.get(f"{base}/threads").json()["data"]["threads"]
        assert listed["title"] == "😀" * 80

    @pytest.mark.parametrize(
        ("body", "message"),
        [
            *(({}, "Required"), ({"content": ""}, "Required"), ({"content": " \n\t"}, "Required")),
            *(({"content": bad}, "Expected string") for bad in (None, 5, ["a"])),
            ({"content": "😀" * 65_536}, "Must have at most 65535 characters"),
        ],
    )
    def test_an_invalid_message_is_rejected_and_not_stored(
        self, api: Api, here: str, body: Any, message: str
    ) -> None:
        answer = api.post(f"{here}/message", body)
        assert answer.status_code == 400
        assert answer.json()["errors"] == [{"path": ["content"], "message": message}]
        assert not Message.objects.exists()

    def test_a_message_of_the_maximum_length_is_stored_unchanged(self, send: Send) -> None:
        content = "  " + "😀" * 65_531 + " \n"
        assert send(content)[0]["content"] == content

    def test_an_inactive_chatbot_accepts_no_message(self, api: Api, here: str) -> None:
        Chatbot.objects.update(is_active=False)
        answer = api.post(f"{here}/message", {"content": "Hello"})
        assert (answer.status_code, answer.json()["message"]) == (403, "chatbot is not active")
        assert api.get(f"{here}/messages").status_code == 200

    def test_an_escalated_thread_gets_no_ai_reply(self, api: Api, here: str, send: Send) -> None:
        api.patch(f"{here}/escalate")
        [only] = send("Anyone there?")
        assert only["messageType"] == "USER_MESSAGE"
        api.patch(f"{here}/escalate")
        assert [one["messageType"] for one in send("Back?")] == ["USER_MESSAGE", "AI_MESSAGE"]

    @pytest.mark.parametrize("escalated", [False, True])
    def test_a_message_reopens_a_resolved_thread(
        self, api: Api, base: str, here: str, send: Send, thread: Thread, escalated: bool
    ) -> None:
        if escalated:
            api.patch(f"{here}/escalate")
        changes = {"threadId": str(thread.pk), "resolved": True}
        resolved = api.patch(f"{base}/thread/update-thread", changes).json()["data"]["thread"]
        assert resolved["resolved"] and resolved["endedAt"]
        assert len(send("One more thing")) == (1 if escalated else 2)
        reopened = api.get(here).json()["data"]["thread"]
        assert (reopened["resolved"], reopened["endedAt"]) == (False, None)
        assert reopened["escalated"] is escalated

    def test_the_message_of_an_escalation_prompt_escalates_the_thread(
        self, api: Api, here: str, send: Send, chatbot: Chatbot
    ) -> None:
        FollowUpPromptFactory(chatbot=chatbot, esclate=True, button_message="A person, please")
        FollowUpPromptFactory(chatbot=chatbot, esclate=False, button_message="Prices")
        assert len(send("Prices")) == 2
        assert len(send("a person, please")) == 2
        [only] = send("A person, please")
        history = api.get(f"{here}/messages").json()["data"]
        assert history["thread"]["mode"] == "AGENT"
        assert [one["messageType"] for one in history["messages"][:2]] == [
            "SYSTEM_MESSAGE",
            "USER_MESSAGE",
        ]
        assert history["messages"][1]["id"] == only["id"]

    @pytest.mark.proves("Endpoints named without shape/send-message")
    def test_a_conversation_stops_at_its_message_limit(
        self, api: Api, here: str, send: Send
    ) -> None:
        GeneralSettings.objects.update(
            limit_messages_per_conversation=True, max_messages_per_conversation=2
        )
        send("one")
        send("two")
        answer = api.post(f"{here}/message", {"content": "three"})
        assert answer.status_code == 400
        assert answer.json()["message"] == "this conversation is limited to 2 messages"
        assert Message.objects.filter(message_type=MessageType.USER_MESSAGE).count() == 2


class TestHistory:
    @pytest.mark.proves("Threads and messages/history")
    def test_paging_returns_each_message_once_while_others_arrive(
        self, api: Api, here: str, thread: Thread
    ) -> None:
        MessageFactory.create_batch(45, thread=thread)
        seen: list[str] = []
        cursor, pages = "", 0
        while cursor is not None:
            data = api.get(f"{here}/messages?{cursor and f'before={cursor}'}").json()["data"]
            assert data["pagination"]["limit"] == 20
            seen += [one["content"] for one in data["messages"]]
            assert data["pagination"]["hasMore"] is (data["pagination"]["nextCursor"] is not None)
            cursor, pages = data["pagination"]["nextCursor"], pages + 1
            MessageFactory(thread=thread, content="arrived meanwhile")
        rows = Message.objects.exclude(content="arrived meanwhile").order_by("-position")
        assert (seen, pages) == (list(rows.values_list("content", flat=True)), 3)

    def test_a_full_last_page_has_no_next_cursor(self, api: Api, here: str, thread: Thread) -> None:
        MessageFactory.create_batch(20, thread=thread)
        page = api.get(f"{here}/messages").json()["data"]
        assert len(page["messages"]) == 20
        assert page["pagination"] == {"limit": 20, "hasMore": False, "nextCursor": None}
        check(page["thread"], STATE)
        check(page["messages"][0], MESSAGE)

    @pytest.mark.parametrize("limit", ["0", "101", "-1", "x", "1.0", ""])
    def test_a_limit_out_of_bounds_is_rejected(self, api: Api, here: str, limit: str) -> None:
        answer = api.get(f"{here}/messages?limit={limit}")
        assert (answer.status_code, answer.json()["message"]) == (400, "request body is not valid")
        assert [error["path"] for error in answer.json()["errors"]] == [["limit"]]

    def test_a_cursor_from_outside_the_thread_is_always_rejected_in_the_same_way(
        self, api: Api, here: str, chatbot: Chatbot
    ) -> None:
        elsewhere = MessageFactory(thread=ThreadFactory(chatbot=chatbot))
        foreign = MessageFactory()
        answers = [
            api.get(f"{here}/messages?before={before}")
            for before in (elsewhere.pk, foreign.pk, uuid.uuid4(), "x")
        ]
        assert {answer.status_code for answer in answers} == {400}
        assert len({answer.content for answer in answers}) == 1
        assert answers[0].json()["errors"][0]["path"] == ["before"]


@pytest.mark.proves("Endpoints named without shape")
class TestReaction:
    @pytest.mark.proves("Endpoints named without shape/reaction")
    def test_reactions_change_the_counters_of_the_thread(
        self, api: Api, base: str, here: str, send: Send
    ) -> None:
        _, reply = send()
        for reaction, counts in (
            *(("POSITIVE", (1, 0)), ("positive", (1, 0)), ("Negative", (0, 1)), ("🎉", (0, 0))),
            *(("", (0, 0)), ("NEGATIVE", (0, 1)), (None, (0, 0))),
        ):
            answer = api.patch(f"{base}/message/{reply['id']}", {"reaction": reaction})
            check(answer.json()["data"], MESSAGE)
            assert answer.json()["data"]["reaction"] == reaction
            thread = api.get(here).json()["data"]["thread"]
            assert (thread["positiveCount"], thread["negativeCount"]) == counts

    @pytest.mark.parametrize(
        ("body", "message"),
        [
            ({}, "Required"),
            ({"reaction": 1}, "Expected string"),
            ({"reaction": "x" * 256}, "Must have at most 255 characters"),
        ],
    )
    def test_an_invalid_reaction_is_rejected(
        self, api: Api, base: str, send: Send, body: Any, message: str
    ) -> None:
        _, reply = send()
        answer = api.patch(f"{base}/message/{reply['id']}", body)
        assert answer.status_code == 400
        assert answer.json()["errors"] == [{"path": ["reaction"], "message": message}]
