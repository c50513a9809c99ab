"""Paths for POST requests that accept an Idempotency-Key, and the body of one of them."""

from chatbots.models import Chatbot
from conversations.models import Thread

INSTRUCTION = {"title": "Greet", "instruction": "Say hello."}


def path_of(thread: Thread) -> str:
    """Return the path for sending a message to a thread."""
    return f"/v1/chatting/{thread.chatbot_id}/thread/{thread.pk}/message"


def instructions(chatbot: Chatbot) -> str:
    """Return the path for creating an instruction."""
    return f"/v1/chatbots/chatbot/{chatbot.pk}/instructions"
