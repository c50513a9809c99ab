"""Data classes for an exchange with a model: the model, the turns, and the reply or failure."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from config.outbound.failures import Reason

if TYPE_CHECKING:  # a run-time import would make the built-in model depend on Django's settings
    from chatbots.models import LlmModel

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class Model:
    """A model to ask. `key_variable` is the name of an entry in LLM_KEYS, or empty."""

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
class Failed:
    """A model that gave no reply, and the reason."""

    model: "LlmModel"
    reason: str


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's reply and how long it took. Each source has a `title` and a `url`.

    `failed` lists the models that were asked but gave no reply. If no model replied, `failure` is
    the reason, and `content` is the bot's fallback message.
    """

    content: str
    sources: list[dict[str, str]] = field(default_factory=list)
    ms: int = 0
    failure: str = ""
    model: "LlmModel | None" = None
    failed: tuple[Failed, ...] = ()
    temperature: float | None = None  # None if no temperature was sent to the model
    turns_sent: int = 0
    input_tokens: int | None = None  # None if the model does not report it
    output_tokens: int | None = None


class ReplyFailed(Exception):
    """Raised when a model gives no reply. `reason` is shown to staff and contains no key or URL.

    `kind` is the metric label of the failure: a transport reason, a status class such as "5xx", or
    KEY_NOT_SET. The default label means that the response was unusable.
    """

    def __init__(self, reason: str, kind: str = Reason.ANSWER_NOT_UNDERSTOOD) -> None:
        super().__init__(reason)
        self.reason, self.kind = reason, kind


class AllFailed(ReplyFailed):
    """Raised when every model that was asked failed to reply. `failed` lists them in order."""

    def __init__(self, failed: tuple[Failed, ...]) -> None:
        reasons = [one.reason for one in failed]
        if len(failed) > 1:
            reasons = [f"{one.model}: {one.reason}" for one in failed]
        super().__init__("; ".join(reasons))
        self.failed = failed
