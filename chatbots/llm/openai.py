"""Models behind an OpenAI-compatible endpoint."""

import re
from collections.abc import Sequence
from contextlib import closing
from functools import cache
from typing import Any

import orjson
import requests
from django.conf import settings

from chatbots.llm.turns import Model, Reply, ReplyFailed, Turn
from config.deadline import within
from config.failures import FAILURES, explain
from config.transport import pieces, session

ANSWER_BYTES = 1024 * 1024
KEPT = 64  # connections to one endpoint for the next reply; more at once are made and closed


def complete(model: Model, turns: Sequence[Turn], *, temperature: float) -> Reply:
    """Ask for a completion, within settings.LLM_TIMEOUT seconds. Raises ReplyFailed."""
    question = {
        "model": model.name,
        "messages": [{"role": turn.role, "content": turn.content} for turn in turns],
        "temperature": temperature,
    }
    try:
        with within(settings.LLM_TIMEOUT):
            answer = _post(model, orjson.dumps(question))
    except FAILURES as error:
        reason, detail = explain(error)
        raise ReplyFailed(f"{reason} {detail}".strip()) from None
    return Reply(_content(answer))


@cache
def _session() -> requests.Session:
    return session(hosts=16, kept=KEPT)


def _post(model: Model, body: bytes) -> bytes:
    with closing(
        _session().post(
            f"{model.base_url.rstrip('/')}/chat/completions",
            data=body,
            headers={"Content-Type": "application/json"} | _authorization(model.key_variable),
            stream=True,
        )
    ) as response:
        if response.status_code != 200:
            # nothing of the body: providers quote keys in what they say about them
            raise ReplyFailed(f"the model's endpoint answered {response.status_code}")
        answer = b"".join(pieces(response, most=ANSWER_BYTES + 1))
    if len(answer) > ANSWER_BYTES:
        raise ReplyFailed(f"answer larger than {ANSWER_BYTES // 1024:,} KiB")
    return answer


def _authorization(variable: str) -> dict[str, str]:
    if not variable:
        return {}
    key = settings.LLM_KEYS.get(variable, "")
    if not re.fullmatch("[!-~]+", key):
        raise ReplyFailed(f"{variable} must be set, to visible ASCII characters without spaces")
    return {"Authorization": f"Bearer {key}"}


def _content(answer: bytes) -> str:
    try:
        # Any: a peer's JSON; each step that does not fit its shape is one of the errors below
        said: Any = orjson.loads(answer)["choices"][0]["message"]["content"]
    except (ValueError, LookupError, TypeError):
        raise ReplyFailed("answer not understood") from None
    if not isinstance(said, str | None):
        raise ReplyFailed("answer not understood")
    content = (said or "").replace("\0", "").strip()  # PostgreSQL keeps no NUL
    if not content:
        raise ReplyFailed("empty reply")
    return content
