"""The records of an exchange with a model: the model, the turns, the reply or its failure."""

from dataclasses import dataclass, field
from typing import Literal

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class Model:
    """The model that answers. `key_variable` names an entry of LLM_KEYS, or is empty."""

    provider: str
    name: str = ""
    base_url: str = ""
    key_variable: str = ""
    sends_temperature: bool = True


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of a conversation, as sent to a model."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's reply and how long it took. Each source has a `title` and a `url`.

    If `failure` is set, it holds the reason and `content` is the bot's fallback message.
    """

    content: str
    sources: list[dict[str, str]] = field(default_factory=list)
    ms: int = 0
    failure: str = ""


class ReplyFailed(Exception):
    """Raised when a model gives no reply. The reason is for staff; it contains no key or URL."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
