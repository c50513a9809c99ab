"""Every AI message has an origin: a record from which its prompt can be rebuilt byte for byte."""

import random
from collections.abc import Iterator
from html import unescape
from typing import Any
from unicodedata import lookup

from chatbots.models import Chatbot, Instruction, LlmModel
from chatbots.services import general_settings
from chatbots.services import instruction as instructions
from chatbots.services import persona as personas
from conversations.models import Message, Thread
from conversations.models.message import MessageType
from conversations.services import reply_origin
from tests.conversations.conftest import Send
from tests.factories.chatbots import InstructionFactory, PersonaFactory
from tests.servers.behaviors import answer
from tests.servers.model import ModelServer

AWKWARD = f'ß {lookup("GRINNING FACE")} \r\n\t"quotes" {{braces}} \u2028 \\ '
PROMPTS, EDITS = 60, 30  # number of prompts, and number of edits made between them


def edits(chatbot: Chatbot) -> Iterator[None]:
    """Change an instruction, two personas and the general settings in turn, one per iteration."""
    instruction = InstructionFactory(chatbot=chatbot, is_active=True)
    persona, other = PersonaFactory(chatbot=chatbot), PersonaFactory(chatbot=chatbot)
    rng = random.Random(7)
    for number in range(1_000):
        text = f"{AWKWARD}{number}"
        instructions.update(chatbot.pk, instruction.pk, {"instruction": f"Rule {text}"})
        yield
        personas.update(chatbot.pk, persona.pk, {"description": text if number % 2 else None})
        yield
        personas.update(chatbot.pk, other.pk, {"is_active": bool(number % 2), "title": text[:50]})
        yield
        length = rng.choice([0, 1, 3, 10, 1_000])
        general_settings.change(
            chatbot.pk, {"description": f"Shop {text}", "history_message_context": length}
        )
        yield


def test_prompts_are_rebuilt_byte_for_byte_after_edits(
    asked: ModelServer, send: Send, chatbot: Chatbot
) -> None:
    changes = edits(chatbot)
    for number in range(PROMPTS):
        send(f"Question {number} {AWKWARD}")
        if number % (PROMPTS // EDITS) == 0:
            next(changes)
    Instruction.objects.all().delete()
    sent = [question["messages"] for question in asked.questions]
    replies = Message.objects.filter(message_type=MessageType.AI_MESSAGE).order_by("position")
    rebuilt = [
        [{"role": turn.role, "content": turn.content} for turn in reply_origin.rebuild(reply)]
        for reply in replies.select_related("origin", "parent_message")
    ]
    assert len(rebuilt) == PROMPTS
    assert rebuilt == sent


def test_the_thread_page_explains_each_ai_message(
    asked: ModelServer, send: Send, thread: Thread, chatbot: Chatbot, admin_client: Any
) -> None:
    row = InstructionFactory(chatbot=chatbot, title="Support", is_active=True)
    for number in range(3):
        instructions.update(chatbot.pk, row.pk, {"instruction": f"Rule {number}"})
    with ModelServer() as first:
        first.say(answer(500))
        second = LlmModel.objects.get(title="Real")
        chosen = LlmModel.objects.create(
            provider="openai", title="Main", base_url=first.base_url, next_model=second
        )
        general_settings.change(chatbot.pk, {"llm_model_id": chosen.pk})
        send()
    page = unescape(
        admin_client.get(f"/admin/conversations/thread/{thread.pk}/change/").content.decode()
    )
    for words in (
        "<summary>Real, ",
        "Instruction: “Support v4”",
        "Model: “Real v1”",
        "Models that failed first: Main: the model's endpoint answered 500",
        "Temperature: 0.5; earlier messages in the prompt: 0",
        "Tokens: 1 in, 1 out",
    ):
        assert words in page
