"""Pruning keeps every version that a reply's origin refers to, however often texts change."""

from functools import partial
from itertools import count
from threading import Event
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from chatbots.models import Chatbot, Instruction, LlmModel, Persona, Version, version
from chatbots.services import general_settings
from chatbots.services import instruction as instructions
from chatbots.services import persona as personas
from conversations.models import Message, ReplyOrigin, Thread
from conversations.models.message import MessageType
from conversations.services import reply_origin
from tests.chatbots.conftest import at_once
from tests.conftest import Api
from tests.conversations.conftest import Send
from tests.factories.chatbots import InstructionFactory, PersonaFactory
from tests.factories.conversations import ThreadFactory
from tests.servers.model import ModelServer, replying

pytestmark = pytest.mark.django_db


def asked_and_rebuilt(asked: ModelServer) -> tuple[list[Any], list[Any]]:
    """Return two sorted lists: the prompts that the model received, and the rebuilt prompts."""
    sent = [question["messages"] for question in asked.questions]
    replies = Message.objects.filter(message_type=MessageType.AI_MESSAGE)
    rebuilt = [
        [{"role": turn.role, "content": turn.content} for turn in reply_origin.rebuild(reply)]
        for reply in replies.select_related("origin", "parent_message")
    ]
    return sorted(sent, key=str), sorted(rebuilt, key=str)


def change(chatbot: Chatbot, row: Instruction, persona: Persona, text: str) -> None:
    """Change every kind of text that a prompt is built from."""
    instructions.update(chatbot.pk, row.pk, {"instruction": text})
    personas.update(chatbot.pk, persona.pk, {"description": text})
    general_settings.change(chatbot.pk, {"description": text})


@pytest.fixture
def one_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make pruning keep only current versions and versions that replies have used."""
    monkeypatch.setattr(version, "NEWEST_KEPT", 1)


@pytest.mark.usefixtures("one_kept")
@pytest.mark.django_db(transaction=True)
def test_a_version_in_use_is_kept_while_the_model_replies(
    asked: ModelServer, send: Send, chatbot: Chatbot
) -> None:
    row = InstructionFactory(chatbot=chatbot, is_active=True)
    persona = PersonaFactory(chatbot=chatbot)

    def reply(_: Any) -> str:
        for number in range(3):
            change(chatbot, row, persona, f"Text {number}")
        connection.close()  # this runs in the model server's thread, on its own connection
        return "answered"

    asked.say(replying(reply))
    assert send()[1]["content"] == "answered"
    sent, rebuilt = asked_and_rebuilt(asked)
    assert rebuilt == sent
    kept = Version.objects.filter(row_id=row.pk).order_by("number")
    assert list(kept.values_list("number", flat=True)) == [1, 4]


@pytest.mark.usefixtures("one_kept")
def test_settings_that_change_while_they_are_read_are_read_again(
    asked: ModelServer, send: Send, chatbot: Chatbot
) -> None:
    row = InstructionFactory(chatbot=chatbot, is_active=True)
    texts = iter(["Rule 2", "Rule 3"])

    def change_first(execute: Any, sql: str, *rest: Any) -> Any:
        """Change the instruction just before its version is marked as used."""
        if sql.startswith('UPDATE "chatbots_version"') and (text := next(texts, None)):
            instructions.update(chatbot.pk, row.pk, {"instruction": text})
        return execute(sql, *rest)

    with connection.execute_wrapper(change_first):
        send()
    assert next(texts, None) is None
    assert ReplyOrigin.objects.get().instruction_version == 3
    sent, rebuilt = asked_and_rebuilt(asked)
    assert rebuilt == sent
    assert "Rule 3" in sent[0][0]["content"]


@pytest.mark.slow
@pytest.mark.usefixtures("one_kept")
@pytest.mark.django_db(transaction=True)
def test_every_prompt_can_be_rebuilt_after_concurrent_replies_and_changes(
    asked: ModelServer, chatbot: Chatbot, api: Api
) -> None:
    threads = [ThreadFactory(chatbot=chatbot) for _ in range(4)]
    row = InstructionFactory(chatbot=chatbot, is_active=True)
    persona = PersonaFactory(chatbot=chatbot)
    sending = Event()

    def talk(thread: Thread) -> None:
        caller = Api(api.key)
        for number in range(20):
            path = f"/v1/chatting/{chatbot.pk}/thread/{thread.pk}/message"
            assert caller.post(path, {"content": f"Question {number}"}).status_code == 200

    def edit() -> None:
        for number in count():
            if sending.is_set():
                return
            change(chatbot, row, persona, f"Text {number}")

    def talk_all() -> None:
        try:
            at_once([partial(talk, thread) for thread in threads])
        finally:
            sending.set()

    at_once([talk_all, edit])
    sent, rebuilt = asked_and_rebuilt(asked)
    assert len(rebuilt) == 80
    assert rebuilt == sent
    unused = Version.objects.filter(row_id=row.pk, used=False)
    assert unused.count() <= 1, "an unused version is kept only if it is current"


def test_versions_that_replies_have_used_are_not_marked_again(
    asked: ModelServer, send: Send, chatbot: Chatbot
) -> None:
    row = InstructionFactory(chatbot=chatbot, is_active=True)
    PersonaFactory(chatbot=chatbot)

    def marks() -> int:
        with CaptureQueriesContext(connection) as captured:
            send()
        return sum(one["sql"].startswith('UPDATE "chatbots_version"') for one in captured)

    assert [marks(), marks()] == [3, 0]
    instructions.update(chatbot.pk, row.pk, {"instruction": "new"})
    assert [marks(), marks()] == [1, 0]


def test_the_settings_of_a_bot_without_a_model_are_kept_for_its_fallback(
    chatbot: Chatbot, send: Send
) -> None:
    LlmModel.objects.update(is_default=False, is_active=False)
    send()
    used = chatbot.versions.filter(used=True).values_list("row_id", "number")
    origin = ReplyOrigin.objects.get()
    assert list(used) == [(origin.settings_id, origin.settings_version)]
