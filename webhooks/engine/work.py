"""Data passed between the schedule and an attempt."""

import time
from dataclasses import dataclass, field, replace
from datetime import timedelta
from uuid import UUID

from webhooks.engine.post import Outcome
from webhooks.models.reason import Refusal


@dataclass(frozen=True, slots=True)
class Claimed:
    """Deliveries that share a claim and a task. Each may be attempted once."""

    claim: UUID
    delivery_ids: list[UUID]
    slow: bool = False  # see `fairness`


@dataclass(frozen=True, slots=True)
class Target:
    """The endpoint as it was when the attempt began."""

    url: str
    sealed_secret: str = field(repr=False)
    is_active: bool
    has_add_on: bool


@dataclass(frozen=True, slots=True)
class Work:
    """An attempt that has begun. It may be settled only while its claim still holds."""

    delivery_id: UUID
    claim: UUID
    attempt_id: UUID
    chatbot_id: UUID
    number: int
    once: bool  # true for a test dispatch or a manual retry: no automatic retry follows
    body: bytes = field(repr=False)
    target: Target | None  # None if the webhook or the chatbot has been deleted
    late: timedelta = timedelta(0)  # how long after its due time the attempt began
    begun: float = field(default_factory=time.monotonic)

    @property
    def key(self) -> tuple[UUID, UUID]:
        """The delivery's primary key and the claim's token."""
        return self.delivery_id, self.claim

    def seconds_since_due(self) -> float:
        """Return how long ago the attempt was due, in seconds."""
        return max(0.0, self.late.total_seconds()) + time.monotonic() - self.begun


@dataclass(frozen=True, slots=True)
class Result:
    """The result of an attempt: the outcome of its request, or why no request was sent."""

    outcome: Outcome | None = None
    signature: str = ""
    refusal: Refusal | None = None
    final: bool = False  # no automatic retry follows

    def without_content(self) -> "Result":
        """Return a copy that is final and has no response content, for an erased delivery."""
        if self.outcome is None:
            return replace(self, final=True)
        outcome = replace(self.outcome, response_headers={}, response_body=b"")
        return replace(self, outcome=outcome, final=True)

    @property
    def success(self) -> bool:
        """Whether the receiver accepted the event."""
        return self.outcome is not None and self.outcome.success

    @property
    def reason(self) -> str:
        """The name of the reason why there is no response, or "" if there is one."""
        return self.outcome.reason if self.outcome else self.refusal or ""

    @property
    def detail(self) -> str:
        """Details of the reason, which may be empty."""
        return self.outcome.detail if self.outcome else ""
