"""Filter deliveries for the log, for retry jobs and for the command `retry_deliveries`."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Exists, OuterRef, QuerySet

from accounts.models import Account
from chatbots.models import Chatbot
from config.outbound.failures import class_of
from webhooks.models import Delivery
from webhooks.models.delivery import NO_ANSWER, State
from webhooks.models.reason import WORDS

CLASSES = {"3xx": 3, "4xx": 4, "5xx": 5, "none": NO_ANSWER}
DELETED = "deleted"  # shown in place of the name of a deleted row
SUCCEEDED = "2xx"  # equivalent to the state SUCCESS


def is_code(cause: str) -> bool:
    """Return whether a cause is a response's status code rather than the name of a reason."""
    return len(cause) == 3 and cause.isascii() and cause.isdecimal()


def in_class(deliveries: "QuerySet[Delivery]", name: str) -> "QuerySet[Delivery]":
    """Select deliveries by their last response's status class; "none" means no response."""
    if name == SUCCEEDED:
        return deliveries.filter(state=State.SUCCESS)
    return deliveries.filter(answer_class=CLASSES[name])


def with_cause(deliveries: "QuerySet[Delivery]", cause: str) -> "QuerySet[Delivery]":
    """Select the deliveries whose last attempt failed with a given code or for a given reason."""
    if is_code(cause):
        code = int(cause)
        return deliveries.filter(answer_class=class_of(code), last_code=code)
    return deliveries.filter(answer_class=NO_ANSWER, last_reason=cause)


def cause_in_words(cause: str) -> str:
    """Describe a failure's cause, which is either a status code or the name of a reason."""
    return f"response {cause}" if is_code(cause) else WORDS.get(cause) or cause


def with_id(deliveries: "QuerySet[Delivery]", wanted: UUID) -> "QuerySet[Delivery]":
    """Select deliveries by their own id, or by the id of their thread or message.

    The result keeps neither the order nor the joins of `deliveries`. For each row with a matching
    id, a subquery checks whether `deliveries` contains it. If `deliveries` were filtered by the ids
    directly, SQLite would read all of a chatbot's deliveries, or all that are in a given state, to
    find the few that match, because ANALYZE is never run on its tables.
    """
    rows = Delivery.objects.order_by()
    found = (
        rows.filter(pk=wanted)
        .values("pk")
        .union(
            rows.filter(thread_id=wanted).values("pk"),
            rows.filter(message_id=wanted).values("pk"),
        )
    )
    wanted_row = deliveries.order_by().filter(pk=OuterRef("pk"))
    return Delivery.objects.filter(Exists(wanted_row), pk__in=found)


@dataclass(frozen=True, kw_only=True)
class Selection:
    """A filter for deliveries. All parts of the filter must match. Empty parts always match."""

    chatbot: UUID | None = None
    account: UUID | None = None
    event: str = ""
    code_class: str = ""
    cause: str = ""
    since: datetime | None = None
    until: datetime | None = None
    id: UUID | None = None  # the id of a delivery, a thread or a message

    def rows(self) -> "QuerySet[Delivery]":
        """Return the matching deliveries, without checking who may see them."""
        rows: QuerySet[Delivery] = Delivery.objects.order_by()
        exact = {"chatbot": self.chatbot, "account": self.account, "event": self.event}
        rows = rows.filter(**{name: value for name, value in exact.items() if value})
        if self.code_class:
            rows = in_class(rows, self.code_class)
        if self.cause:
            rows = with_cause(rows, self.cause)
        if self.since:
            rows = rows.filter(created_at__gte=self.since)
        if self.until:
            rows = rows.filter(created_at__lte=self.until)
        return with_id(rows, self.id) if self.id else rows

    def words(self, names: Mapping[UUID, str] | None = None) -> list[str]:
        """Describe the filter in words, with one phrase for each part.

        `names` maps ids of chatbots and accounts to their names. If it is None, they are looked up.
        """
        known = names_of([self]) if names is None else names
        parts = {
            "state": State.FAILED,
            "chatbot": self.chatbot and known.get(self.chatbot, DELETED),
            "account": self.account and known.get(self.account, DELETED),
            "event": self.event,
            "response": self.code_class,
            "cause": cause_in_words(self.cause) if self.cause else "",
            "created from": self.since and f"{self.since:%Y-%m-%d %H:%M:%S} UTC",
            "created until": self.until and f"{self.until:%Y-%m-%d %H:%M:%S} UTC",
            "id": self.id,
        }
        return [f"{name}: {value}" for name, value in parts.items() if value]

    def as_json(self) -> dict[str, str]:
        """Return the parts that are set, as strings."""
        return {name: str(value) for name, value in asdict(self).items() if value}

    @classmethod
    def from_json(cls, parts: dict[str, str]) -> "Selection":
        """Rebuild a selection from what `as_json` returned."""
        kinds: dict[str, Any] = {
            **dict.fromkeys(("chatbot", "account", "id"), UUID),
            **dict.fromkeys(("since", "until"), datetime.fromisoformat),
        }
        return cls(**{name: kinds.get(name, str)(value) for name, value in parts.items()})


def names_of(selections: Iterable[Selection]) -> dict[UUID, str]:
    """Return the names, by id, of the chatbots and accounts that the filters refer to."""
    wanted = list(selections)
    chatbots = [one.chatbot for one in wanted if one.chatbot]
    accounts = [one.account for one in wanted if one.account]
    found = dict(Chatbot.everything.filter(pk__in=chatbots).values_list("pk", "name"))
    return found | dict(Account.objects.filter(pk__in=accounts).values_list("pk", "name"))
