"""Classify the errors of OpenAI-compatible endpoints and choose a remedy.

Servers report the same error in different ways, so the remedy depends on the error's parameter,
status, code or text. The text is not used for any other purpose, because providers may quote keys
and prompts in it.
"""

import math
import re
from enum import Enum, auto
from typing import Any

import orjson

from chatbots.llm.exchange import ReplyFailed
from config.outbound.failures import class_of

NAME = re.compile(r"[A-Za-z_]{1,50}|[0-9]{1,6}")  # matches error codes and types, but not API keys
TOO_MANY_REQUESTS, CONTENT_TOO_LARGE = 429, 413
SPENT = "insufficient_quota"  # the error code of a 429 response for which waiting does not help
# Phrases that OpenAI, vLLM, llama.cpp, LM Studio, LiteLLM, OpenRouter, Anthropic, Mistral, Gemini,
# xAI, Cohere and TGI use to say that a prompt is too long
TOO_LONG = (
    "context_length",
    "context length",
    "context window",
    "contextwindow",
    "context size",
    "context_size",
    "maximum context",
    "maximum prompt length",
    "maximum number of tokens",
    "prompt is too long",
    "input is too long",
    "too many tokens",
    "`inputs` tokens",
)


class Remedy(Enum):
    """What to do to give the next request a chance of success."""

    NONE = auto()
    WAIT = auto()
    LESS_HISTORY = auto()
    NO_TEMPERATURE = auto()


class ModelFault(ReplyFailed):
    """A failed request to a model, and how to remedy it. `retry_after` is in seconds."""

    def __init__(
        self, reason: str, kind: str, remedy: Remedy, retry_after: float | None = None
    ) -> None:
        super().__init__(reason, kind)
        self.remedy, self.retry_after = remedy, retry_after


def refusal(status: int, body: bytes, retry_after: str | None = None) -> ModelFault:
    """Convert an error response into a fault. The body may contain anything."""
    error = _error(body)
    name = _name(error, status)
    return ModelFault(
        f"the model's endpoint answered {status}" + (f" ({name})" if name else ""),
        f"{class_of(status)}xx",
        _remedy(status, name, error.get("param"), body.decode(errors="replace").lower()),
        seconds(retry_after),
    )


def seconds(retry_after: str | None) -> float | None:
    """Parse a Retry-After header in seconds. Returns None if it is missing or not a number."""
    try:
        wait = float((retry_after or "")[:40])
    except ValueError:
        return None
    return max(wait, 0.0) if math.isfinite(wait) else None


def _error(body: bytes) -> dict[str, Any]:  # Any: JSON from the endpoint
    """Find the error object in a response, in any of the shapes that servers use."""
    try:
        said: Any = orjson.loads(body)
    except ValueError:
        return {}
    if isinstance(said, list) and said:
        said = said[0]
    if not isinstance(said, dict):
        return {}
    error = said.get("error")
    return error if isinstance(error, dict) else said


def _name(error: dict[str, Any], status: int) -> str:
    """Return the error's code or type if it is safe to log and says more than the status."""
    values = (str(error.get(field, "")) for field in ("code", "type", "error_type", "status"))
    useless = (str(status), "None", "error")
    return next((one for one in values if NAME.fullmatch(one) and one not in useless), "")


def _remedy(status: int, name: str, parameter: object, text: str) -> Remedy:
    """Choose a remedy.

    The error's parameter is checked first. If it does not identify the remedy, the choice depends
    on the response's status and text, and on the error's name.
    """
    if parameter == "temperature":
        return Remedy.NO_TEMPERATURE
    if status == CONTENT_TOO_LARGE or any(words in text for words in TOO_LONG):
        return Remedy.LESS_HISTORY
    if status == TOO_MANY_REQUESTS or status >= 500:
        return Remedy.NONE if name == SPENT else Remedy.WAIT
    return Remedy.NO_TEMPERATURE if "temperature" in text else Remedy.NONE
