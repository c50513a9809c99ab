"""What passes between the schedule and an attempt."""

from dataclasses import dataclass, field, replace
from uuid import UUID

from webhooks.engine.post import Outcome


@dataclass(frozen=True, slots=True)
class Claimed:
    """A delivery that this worker may begin; the claim is good for one beginning."""

    delivery_id: UUID
    claim: UUID


@dataclass(frozen=True, slots=True)
class Target:
    """The endpoint as it stood when the attempt began."""

    url: str
    sealed_secret: str = field(repr=False)
    is_active: bool
    has_add_on: bool


@dataclass(frozen=True, slots=True)
class Work:
    """An attempt that has begun. Whoever does not hold its claim any more may not settle it."""

    delivery_id: UUID
    claim: UUID
    attempt_id: UUID
    chatbot_id: UUID
    number: int
    once: bool  # a test dispatch or a manual retry: no other attempt follows
    body: bytes = field(repr=False)
    target: Target | None  # None: the webhook was deleted


@dataclass(frozen=True, slots=True)
class Result:
    """What came of an attempt: an outcome where something was sent, or why nothing was."""

    outcome: Outcome | None = None
    signature: str = ""
    refusal: str = ""
    final: bool = False  # a refusal that no later attempt can change

    def without_content(self) -> "Result":
        """Leave out the response: the delivery was erased meanwhile, and is not sent again."""
        if self.outcome is None:
            return replace(self, final=True)
        outcome = replace(self.outcome, response_headers={}, response_body=b"")
        return replace(self, outcome=outcome, final=True)

    @property
    def success(self) -> bool:
        """Whether the receiver took it."""
        return self.outcome is not None and self.outcome.success

    @property
    def error(self) -> str:
        """Why there is no answer, in words; empty where there is one."""
        if self.outcome is None:
            return self.refusal
        return ": ".join(filter(None, (self.outcome.reason, self.outcome.detail)))[:255]
