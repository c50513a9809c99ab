import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection, connections

from chatbots.models import Chatbot, GeneralSettings, LlmModel
from conversations.models import Draft, Message, Thread
from conversations.models.message import MessageType
from conversations.services import answering
from tests.conftest import Api
from tests.conversations.conftest import Send
from tests.factories.accounts import UserFactory
from tests.factories.chatbots import InstructionFactory, PersonaFactory
from tests.factories.conversations import MessageFactory
from tests.factories.webhooks import EndpointFactory
from tests.servers.behaviours import answer
from tests.servers.model import ModelServer, dripping, replying, saying
from webhooks.models import Delivery

pytestmark = pytest.mark.proves("Threads and messages")
FALLBACK = "Please ask again later."


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture
def asked(model: ModelServer, chatbot: Chatbot) -> ModelServer:
    """The model server, as the chatbot's model."""
    row = LlmModel.objects.create(
        provider="openai", title="Real", name="m-1", base_url=model.base_url
    )
    GeneralSettings.objects.update(llm_model=row, fallback_message=FALLBACK)
    return model


def test_the_prompt_is_made_of_the_settings(
    asked: ModelServer, send: Send, chatbot: Chatbot, thread: Thread
) -> None:
    GeneralSettings.objects.update(description="A shop's bot.", history_message_context=3)
    PersonaFactory(
        chatbot=chatbot,
        title="Clerk",
        description=None,
        instructions="Be brief.",
        creativity_level=1,
    )
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


def test_a_reply_has_the_bound_of_every_content(asked: ModelServer, send: Send) -> None:
    asked.say(saying("x" * 70_000))
    assert len(send()[1]["content"]) == 65_535


@pytest.mark.parametrize(
    ("persona", "temperature"), [(0.75, 0.75), (None, 0.5)], ids=["the persona's", "the default"]
)
def test_without_an_active_instruction_another_creativity_counts(
    asked: ModelServer, send: Send, chatbot: Chatbot, persona: float | None, temperature: float
) -> None:
    if persona:
        PersonaFactory(chatbot=chatbot, creativity_level=persona)
    send()
    assert asked.questions[0]["temperature"] == temperature


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(answer(500, b"broken"), id="an error"),
        pytest.param(answer(200, b"not json"), id="garbage"),
        pytest.param(saying(""), id="nothing said"),
        pytest.param(saying("late", delay=5.0), id="too late"),
        pytest.param(dripping("far too slow", gap=0.1), id="a drip"),
    ],
)
@pytest.mark.parametrize("fallback", [FALLBACK, "  "], ids=["with a fallback", "without one"])
def test_a_failed_model_is_answered_by_the_fallback(
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


@pytest.mark.django_db(transaction=True)
class TestWaiting:
    """What hangs on commits: the model's side looks at what others can see meanwhile."""

    def answering_after(self, look: Callable[[], None]) -> Any:
        def reply(_: Any) -> str:
            look()
            connection.close()  # the model server's thread has its own
            return "answered"

        return replying(reply)

    def test_the_message_and_its_event_are_stored_before_the_model_is_asked(
        self, asked: ModelServer, send: Send, chatbot: Chatbot
    ) -> None:
        EndpointFactory(chatbot=chatbot)
        seen: list[Any] = []
        asked.say(
            self.answering_after(
                lambda: seen.append((Message.objects.count(), Delivery.objects.count()))
            )
        )
        assert [one["content"] for one in send("Hi")] == ["Hi", "answered"]
        assert seen == [(1, 1)]

    def test_a_reply_after_a_person_took_over_stays_a_draft(
        self, api: Api, asked: ModelServer, send: Send, thread: Thread, here: str
    ) -> None:
        agent = UserFactory(name="Kim")
        asked.say(
            self.answering_after(
                lambda: answering.answer(thread.pk, agent=agent, content="Kim here")
            )
        )
        [only] = send("Hi")
        draft = Draft.objects.get()
        assert (draft.content, str(draft.message_id)) == ("answered", only["id"])
        history = api.get(f"{here}/messages").json()["data"]["messages"]
        assert [one["messageType"] for one in history] == [
            "AGENT_MESSAGE",
            "SYSTEM_MESSAGE",
            "USER_MESSAGE",
        ]
        assert history[0]["agentName"] == "Kim"
        assert b"answered" not in api.get(f"{here}/messages").content

    def test_a_model_deleted_while_it_answers_answers_all_the_same(
        self, asked: ModelServer, send: Send
    ) -> None:
        asked.say(self.answering_after(lambda: LlmModel.objects.filter(title="Real").delete()))
        _, reply = send("Hi")
        assert (reply["content"], reply["llmModelId"]) == ("answered", None)

    def test_messages_sent_at_once_are_each_answered(
        self, api: Api, asked: ModelServer, here: str
    ) -> None:
        asked.say(replying(lambda messages: f"re: {messages[-1]['content']}", delay=0.3))
        answers: list[Any] = []

        def one(content: str) -> None:
            answers.append(api.__class__(api.key).post(f"{here}/message", {"content": content}))
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


@pytest.mark.django_db(transaction=True)
def test_no_connection_is_held_while_waiting(asked: ModelServer, send: Send) -> None:
    here, held = connections["default"], []

    def look(_: Any) -> str:
        held.append(here.connection)
        return "answered"

    asked.say(replying(look))
    send()
    assert held == [None]
