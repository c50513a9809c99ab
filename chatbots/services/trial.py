"""Ask a bot's model a question to try out the saved settings. Nothing is stored."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from chatbots.llm import fallback, prompt
from chatbots.llm.exchange import Reply, ReplyFailed, Turn


@dataclass(frozen=True)
class Trial:
    """A reply, and the system message that was built for it.

    If `reply.failure` is set, `reply` contains the bot's fallback message.
    """

    system: str
    reply: Reply


def ask(chatbot_id: UUID, said: Sequence[Turn], question: str) -> Trial:
    """Ask a question after the turns in `said`, and return the reply with its system message.

    The question does not count toward any quota. The outcome is recorded only in metrics.
    Call this outside any transaction, because it waits for the model.
    """
    known = prompt.briefing(chatbot_id)
    reply = Reply(known.fallback, failure="no model is marked as the default")
    if known.model:
        system = [Turn("system", known.system)] if known.system else []
        recent = prompt.fitting(said, known.history_length)
        models = fallback.to_try_out(known.model)
        try:
            reply = fallback.ask_in_turn(
                models,
                [*system, *recent, Turn("user", question)],
                temperature=known.temperature,
                facts=known.facts,
            )
        except ReplyFailed as failure:
            reply = Reply(known.fallback, failure=failure.reason)
    return Trial(known.system, reply)
