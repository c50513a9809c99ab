"""What is said to a model, and what comes back."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Literal

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class Model:
    """Which model answers; `key_variable` names a setting of LLM_KEYS, or is empty."""

    provider: str
    name: str = ""
    base_url: str = ""
    key_variable: str = ""
    sends_temperature: bool = True


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of a conversation, as models read it."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's words, and how long they took; each source has a `title` and a `url`.

    With a `failure` the words are the bot's fallback message, and it says why.
    """

    content: str
    sources: list[dict[str, str]] = field(default_factory=list)
    ms: int = 0
    failure: str = ""


class ReplyFailed(Exception):
    """Raised when no reply came; the reason is for staff, and holds no key and no URL."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def fitting(sizes: Iterable[int], most: int) -> int:
    """Count the sizes, from the first one on, whose sum is at most `most`."""
    return sum(total <= most for total in accumulate(sizes))
