"""What is said to a model, and what comes back."""

from dataclasses import dataclass, field
from typing import Literal

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class Model:
    """Which model answers; `key_variable` names a setting of LLM_KEYS, or is empty."""

    provider: str
    name: str = ""
    base_url: str = ""
    key_variable: str = ""


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of a conversation, as models read it."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's words, and how long they took; each source has a `title` and a `url`."""

    content: str
    sources: list[dict[str, str]] = field(default_factory=list)
    ms: int = 0


class ReplyFailed(Exception):
    """Raised when no reply came; the reason is for staff, and holds no key and no URL."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
