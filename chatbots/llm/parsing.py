"""Extract the text of a chat completion from a model's response."""

import re
from dataclasses import dataclass
from typing import Any

import orjson

from chatbots.llm import faults
from chatbots.llm.exchange import ReplyFailed

BYTES = 1024 * 1024  # maximum size of a response; no compression is requested
BOM = b"\xef\xbb\xbf"
MOST_TOKENS = 2_147_483_647  # the largest value of a PositiveIntegerField
NOT_UNDERSTOOD = "invalid response"
STREAMED = "the model streamed its response without being asked to"

# If there is no closing tag, the model was cut off while it was thinking, so the thought extends to
# the end of the text.
THOUGHT = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
THOUGHT_ENDS = "</think>"


@dataclass(frozen=True, slots=True)
class Completion:
    """The text of a completion, and its token counts if the model reports them."""

    text: str
    input_tokens: int | None = None
    output_tokens: int | None = None


def read(body: bytes, status: int = 200) -> Completion:
    """Parse a response body into a completion, whose text is never empty. Raises ReplyFailed."""
    if body.startswith(b"data:"):
        raise ReplyFailed(STREAMED)
    try:
        # Any: JSON from the endpoint. Unexpected shapes raise one of the errors caught below
        said: Any = orjson.loads(body.removeprefix(BOM))
        if "error" in said and not said.get("choices"):
            raise faults.refusal(status, body)
        choice = said["choices"][0]
        message = choice["message"]
        text = _text(message.get("content"))
    except (ValueError, LookupError, TypeError, AttributeError):
        raise ReplyFailed(NOT_UNDERSTOOD) from None
    if not text:
        raise ReplyFailed(_silence(message.get("refusal"), choice.get("finish_reason")))
    return Completion(text, *_tokens(said.get("usage")))


def without_thoughts(text: str) -> str:
    """Remove the thoughts that a reasoning model wrote before its answer."""
    before, ended, after = text.partition(THOUGHT_ENDS)
    if ended and not THOUGHT.search(before):  # some servers leave out the opening tag
        text = after
    return THOUGHT.sub("", text)


def _text(said: Any) -> str:
    if isinstance(said, list):
        said = "".join(part["text"] for part in said if part["type"] == "text")
    if not isinstance(said, str | None):
        raise TypeError
    return without_thoughts((said or "").replace("\0", "")).strip()  # PostgreSQL rejects NUL


def _tokens(usage: Any) -> tuple[int | None, int | None]:
    """Read the two token counts. The endpoint's JSON may contain values of any type."""
    if not isinstance(usage, dict):
        return None, None
    counts = (usage.get("prompt_tokens"), usage.get("completion_tokens"))
    known = [one if type(one) is int and 0 <= one <= MOST_TOKENS else None for one in counts]
    return known[0], known[1]


def _silence(refusal: object, finished: object) -> str:
    if refusal:
        return "the model refused to answer"
    if finished == "content_filter":
        return "the provider's content filter withheld the reply"
    named = isinstance(finished, str) and faults.NAME.fullmatch(finished)
    return f"empty reply ({finished})" if named else "empty reply"
