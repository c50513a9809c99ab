"""Ask language models for the next message of a conversation."""

import time
from collections.abc import Sequence
from dataclasses import replace

from django.conf import settings

from chatbots.llm import metrics, offline, openai
from chatbots.llm.exchange import AllFailed, Failed, Model, Reply, ReplyFailed, Turn
from chatbots.models import LlmModel
from config.outbound.failures import is_shortage

__all__ = ["AllFailed", "Model", "Reply", "ReplyFailed", "Turn", "ask", "ask_in_turn"]

SHARE = 0.5  # of the time left that a model may take if another one can still be asked


def ask(
    model: Model,
    turns: Sequence[Turn],
    *,
    temperature: float,
    facts: str = "",
    seconds: float | None = None,
    pauses: Sequence[float] = openai.PAUSES,
) -> Reply:
    """Return the model's reply to the last turn, within `seconds` (settings.LLM_TIMEOUT).

    `facts` is the part of the system message that may be shown to visitors; only the built-in
    model uses it. There is one retry after each of the `pauses`, in seconds. Call this outside any
    transaction, because it waits for the network. Raises ReplyFailed.
    """
    began, result = time.monotonic(), "failure"
    try:
        if model.provider == LlmModel.OFFLINE:
            said = offline.answer(turns[-1].content, facts)
            reply = replace(said, turns_sent=len(turns))
        else:
            reply = openai.complete(
                model,
                turns,
                temperature=temperature,
                seconds=settings.LLM_TIMEOUT if seconds is None else seconds,
                pauses=pauses,
            )
        result = "reply"
    except ReplyFailed as failure:
        metrics.FAILURES.labels(failure.kind).inc()
        raise
    finally:
        metrics.REPLY_SECONDS.labels(result).observe(time.monotonic() - began)
    return replace(reply, ms=round((time.monotonic() - began) * 1000))


def ask_in_turn(
    models: Sequence[LlmModel], turns: Sequence[Turn], *, temperature: float, facts: str = ""
) -> Reply:
    """Return the reply of the first model that gives one.

    All of them share settings.LLM_TIMEOUT. While there is another model, a model may take SHARE of
    the time left and gets no retries after a pause: the next one is the retry. Raises AllFailed,
    and ReplyFailed if this machine lacked the resources to ask.
    """
    failed: list[Failed] = []
    ends = time.monotonic() + settings.LLM_TIMEOUT
    for number, row in enumerate(models, 1):
        last = number == len(models)
        try:
            reply = ask(
                endpoint(row),
                turns,
                temperature=temperature,
                facts=facts,
                seconds=(ends - time.monotonic()) * (1.0 if last else SHARE),
                pauses=openai.PAUSES if last else (),
            )
        except ReplyFailed as failure:
            if is_shortage(failure):
                raise  # this machine's fault, not the model's
            failed.append(Failed(row, failure.reason))
        else:
            return replace(reply, model=row, failed=tuple(failed))
    raise AllFailed(tuple(failed))


def endpoint(row: LlmModel) -> Model:
    """Return the settings that are needed to ask a stored model."""
    return Model(
        provider=row.provider,
        name=row.name,
        base_url=row.base_url,
        key_variable=row.key_variable,
        sends_temperature=row.sends_temperature,
    )
