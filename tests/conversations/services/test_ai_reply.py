import threading
from collections.abc import Callable
from functools import partial
from html import unescape
from typing import Any

import orjson
import pytest
from django.db import connection

from chatbots.models import Chatbot, GeneralSettings, LlmModel
from conversations.models import Draft, Message, Thread
from conversations.models.message import MessageType
from conversations.services import agent_message, history
from tests.conftest import Api
from tests.conversations.conftest import Send
from tests.factories.accounts import UserFactory
from tests.factories.chatbots import InstructionFactory, PersonaFactory
from tests.factories.conversations import MessageFactory
from tests.factories.webhooks import EndpointFactory
from tests.servers.behaviors import Arrival, answer
from tests.servers.model import ModelServer, dripping, failing, replying, saying
from webhooks.models import Delivery

pytestmark = pytest.mark.proves("Threads and messages")
FALLBACK = "Please ask again later."


@pytest.fixture
def asked(model: ModelServer, chatbot: Chatbot) -> ModelServer:
    """The model server, configured as the chatbot's model."""
    row = LlmModel.objects.create(
        provider="openai", title="Real", name="m-1", base_url=model.base_url
    )
    GeneralSettings.objects.update(llm_model=row, fallback_message=FALLBACK)
    return model


def test_the_prompt_is_built_from_the_settings(
    asked: ModelServer, send: Send, chatbot: Chatbot, thread: Thread
) -> None:
    GeneralSettings.objects.update(description="A shop's bot.", history_message_context=3)
    clerk = {"title": "Clerk", "description": None, "instructions": "Be brief."}
    PersonaFactory(chatbot=chatbot, creativity_level=1, **clerk)
    PersonaFactory(chatbot=chatbot, title="Asleep", is_active=False)
    InstructionFactory(chatbot=chatbot, instruction="Sell.", is_active=True, creativity_level=0.25)
    InstructionFactory(chatbot=chatbot, instruction="Never said.")
    for kind, content in (
        (MessageType.USER_MESSAGE, "too old"),
        (MessageType.USER_MESSAGE, "one"),
        (MessageType.AI_MESSAGE, "two"),
        (MessageType.SYSTEM_MESSAGE, "not said to anybody"),
        (MessageType.AGENT_MESSAGE, "three"),
    ):
        MessageFactory(thread=thread, message_type=kind, content=content)
    send("four")
    [question] = asked.questions
    assert (question["model"], question["temperature"]) == ("m-1", 0.25)
    assert question["messages"] == [
        {"role": "system", "content": "A shop's bot.\n\nClerk\n\nBe brief.\n\nSell."},
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": "two"},
        {"role": "assistant", "content": "three"},
        {"role": "user", "content": "four"},
    ]


@pytest.mark.parametrize(
    "fault",
    [
        *(answer(500, b"broken"), answer(200, b"not json"), saying("")),
        *(saying("late", delay=5.0), dripping("far too slow", gap=0.1)),
    ],
    ids=["server error", "not JSON", "empty reply", "too late", "dripping"],
)
@pytest.mark.parametrize("fallback", [FALLBACK, "  "], ids=["with a fallback", "without one"])
def test_the_fallback_replaces_the_reply_of_a_failed_model(
    asked: ModelServer, send: Send, settings: Any, fault: Any, fallback: str
) -> None:
    settings.LLM_TIMEOUT = 0.4
    GeneralSettings.objects.update(fallback_message=fallback)
    asked.say(fault)
    first, *rest = send()
    assert first["content"] == "Hello"
    assert [(one["messageType"], one["content"]) for one in rest] == (
        [("AI_MESSAGE", FALLBACK)] if fallback == FALLBACK else []
    )
    assert not [one for one in rest if one["llmModelId"]]
    assert Message.objects.filter(message_type=MessageType.USER_MESSAGE).count() == 1


def prompted(asked: ModelServer) -> list[str]:
    """Return the contents of the messages in the latest prompt."""
    return [one["content"] for one in asked.questions[-1]["messages"]]


def test_the_history_in_a_prompt_is_limited_whatever_the_settings(
    asked: ModelServer, send: Send, thread: Thread
) -> None:
    GeneralSettings.objects.update(history_message_context=2_147_483_647)
    rows = [
        Message(thread=thread, position=number, message_type="USER_MESSAGE", content=f"m{number}")
        for number in range(1, 151)
    ]
    Message.objects.bulk_create(rows)
    Thread.objects.update(last_position=150)
    send("now")
    assert prompted(asked) == [*(f"m{number}" for number in range(51, 151)), "now"]


def test_the_history_in_a_prompt_is_limited_to_whole_messages_within_a_character_budget(
    asked: ModelServer, send: Send, thread: Thread
) -> None:
    sizes = (10, 20_001, 30_000, 10_000, 19_999)
    for size, letter in zip(sizes, "abcde", strict=True):
        MessageFactory(thread=thread, content=letter * size)
    send("now")
    assert [(one[0], len(one)) for one in prompted(asked)] == [
        ("c", 30_000),
        ("d", 10_000),
        ("e", 19_999),
        ("n", 3),
    ]
    read = history.HEARD.rows(10, thread=thread.pk, position=len(sizes) + 1)
    assert [content[0] for _, content in read] == ["e", "d", "c"], "older messages are not read"


def test_a_message_that_is_too_long_does_not_prevent_later_replies(
    asked: ModelServer, send: Send
) -> None:
    too_long = failing(400, {"code": "context_length_exceeded"})

    def limited(arrival: Arrival) -> Any:
        contents = [one["content"] for one in orjson.loads(arrival.body)["messages"]]
        return (too_long if len("".join(contents)) > 32_000 else saying("fine"))(arrival)

    asked.say(limited)
    assert send("x" * 40_000)[1]["content"] == FALLBACK
    assert [send("short")[1]["content"] for _ in range(3)] == ["fine"] * 3


def test_staff_are_told_which_reply_failed_and_why(
    asked: ModelServer,
    send: Send,
    caplog: pytest.LogCaptureFixture,
    admin_client: Any,
    chatbot: Chatbot,
    thread: Thread,
) -> None:
    reason = "the model's endpoint answered 404 (model_not_found)"
    asked.say(failing(404, {"code": "model_not_found", "message": "sk-canary"}))
    send()
    model = LlmModel.objects.get(title="Real")
    [line] = [line for line in caplog.messages if "no reply" in line]
    for named in (str(chatbot.pk), str(model.pk), "Real", reason):
        assert named in line
    assert "canary" not in line
    reply = Message.objects.get(message_type=MessageType.AI_MESSAGE)
    assert reply.fallback_reason == reason
    assert Thread.objects.get(pk=thread.pk).fallback_at == reply.created_at
    page = admin_client.get(f"/admin/conversations/thread/{thread.pk}/change/")
    assert f"fallback message: {reason}" in unescape(page.content.decode())
    page = admin_client.get(f"/admin/chatbots/llmmodel/{model.pk}/change/")
    assert f"UTC: {reason}" in unescape(page.content.decode())


@pytest.mark.django_db(transaction=True)
class TestWaiting:
    """The message is committed before the model is called, and rows may change during the call."""

    def answering_after(self, look: Callable[[], None]) -> Any:
        def reply(_: Any) -> str:
            try:
                look()
            finally:
                connection.close()  # this runs in the model server's thread, on its own connection
            return "answered"

        return replying(reply)

    def test_the_message_and_its_event_are_committed_before_the_model_is_called(
        self, asked: ModelServer, send: Send, chatbot: Chatbot
    ) -> None:
        EndpointFactory(chatbot=chatbot)
        seen: list[Any] = []

        def stored() -> None:
            seen.append((Message.objects.count(), Delivery.objects.count()))

        asked.say(self.answering_after(stored))
        assert [one["content"] for one in send("Hi")] == ["Hi", "answered"]
        assert seen == [(1, 1)]

    def test_a_reply_that_arrives_after_a_person_took_over_becomes_a_draft(
        self, api: Api, asked: ModelServer, send: Send, thread: Thread, here: str
    ) -> None:
        agent = UserFactory(name="Kim")
        takes_over = partial(agent_message.answer, thread.pk, agent=agent, content="Kim here")
        asked.say(self.answering_after(takes_over))
        [only] = send("Hi")
        draft = Draft.objects.get()
        assert (draft.content, str(draft.message_id)) == ("answered", only["id"])
        history = api.get(f"{here}/messages").json()["data"]["messages"]
        kinds = [one["messageType"] for one in history]
        assert kinds == ["AGENT_MESSAGE", "SYSTEM_MESSAGE", "USER_MESSAGE"]
        assert history[0]["agentName"] == "Kim"
        assert b"answered" not in api.get(f"{here}/messages").content

    def test_a_reply_of_a_model_that_is_deleted_meanwhile_is_still_stored(
        self, asked: ModelServer, send: Send
    ) -> None:
        def delete() -> None:
            GeneralSettings.objects.update(llm_model=None)
            LlmModel.objects.filter(title="Real").delete()

        asked.say(self.answering_after(delete))
        _, reply = send("Hi")
        assert (reply["content"], reply["llmModelId"]) == ("answered", None)

    def test_concurrent_messages_are_each_answered(
        self, api: Api, asked: ModelServer, here: str
    ) -> None:
        asked.say(replying(lambda messages: f"re: {messages[-1]['content']}", delay=0.3))
        answers: list[Any] = []

        def one(content: str) -> None:
            try:
                answers.append(Api(api.key).post(f"{here}/message", {"content": content}))
            finally:
                connection.close()

        senders = [threading.Thread(target=one, args=(f"m{n}",)) for n in range(8)]
        for sender in senders:
            sender.start()
        for sender in senders:
            sender.join()
        assert {one.status_code for one in answers} == {200}
        for pair in (one.json()["data"]["messages"] for one in answers):
            question, reply = pair
            assert reply["parentMessageId"] == question["id"]
            assert reply["content"] == f"re: {question['content']}"
        positions = Message.objects.order_by("position").values_list("position", flat=True)
        assert list(positions) == list(range(1, 17))
