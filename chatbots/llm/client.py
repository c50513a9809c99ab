"""Ask a language model for the next message of a conversation."""

import time
from collections.abc import Sequence
from dataclasses import replace

from chatbots.llm import offline, openai
from chatbots.llm.exchange import Model, Reply, ReplyFailed, Turn
from chatbots.models import LlmModel

__all__ = ["Model", "Reply", "ReplyFailed", "Turn", "ask"]


def ask(model: Model, turns: Sequence[Turn], *, temperature: float, facts: str = "") -> Reply:
    """Return the model's reply to the last turn, within settings.LLM_TIMEOUT seconds.

    `facts` is the part of the system message that may be shown to visitors; only the built-in
    model uses it. Call this outside any transaction, because it waits for the network. Raises
    ReplyFailed.
    """
    began = time.monotonic()
    if model.provider == LlmModel.OFFLINE:
        reply = offline.answer(turns[-1].content, facts)
    else:
        reply = openai.complete(model, turns, temperature=temperature)
    return replace(reply, ms=round((time.monotonic() - began) * 1000))
