"""Define the inbox's views (its tabs), count and read their threads, and answer its polls."""

from collections import Counter
from collections.abc import Callable, Iterable
from datetime import datetime
from hashlib import blake2b
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import Case, OuterRef, QuerySet, Subquery, Value, When
from django.db.models.functions import Coalesce, Substr

from accounts.models import User
from conversations.models import Message, Thread
from conversations.models.message import MessageType
from conversations.models.thread import DISLIKED, FALLBACK, ThreadQuerySet

CAP = 100  # counts of 100 or more are shown as "99+"
SHOWN = 25  # number of rows per page
WORDS = 200  # maximum number of characters to read from a quoted message

LATEST = ("-updated_at", "-id")
LONGEST_WAIT = ("waiting_since", "id")


class View(NamedTuple):
    """A tab of the inbox: its label, the threads that it shows to a user, and their order."""

    label: str
    keep: Callable[[ThreadQuerySet, User], ThreadQuerySet]
    key: tuple[str, ...] = LATEST


VIEWS = {
    "unassigned": View(
        "Unassigned",
        lambda rows, person: rows.open().filter(escalated=True, assignee__isnull=True),
    ),
    "mine": View("Mine", lambda rows, person: rows.open().filter(assignee=person)),
    "unread": View("Unread", lambda rows, person: rows.open().filter(unread_messages_count__gt=0)),
    "waiting": View("Waiting", lambda rows, person: rows.waiting(), LONGEST_WAIT),
    "open": View("All open", lambda rows, person: rows.open()),
    "bad": View("Bad answers", lambda rows, person: rows.filter(DISLIKED | FALLBACK)),
    "resolved": View("Resolved", lambda rows, person: rows.filter(resolved=True)),
    "archived": View("Archived", lambda rows, person: rows.filter(archived=True)),
}
DEFAULT_VIEW = "open"
LAST = "last"  # selects the user's last view, or "waiting" if there is none


def chosen(name: str | None) -> str:
    """Return the name of the view that a query string selects, or of the default view."""
    return "waiting" if name == LAST else name if name in VIEWS else DEFAULT_VIEW


def shown(count: int) -> int | str:
    """Format a thread count that is capped at CAP."""
    return f"{CAP - 1}+" if count >= CAP else count


def slices(
    parts: "Iterable[tuple[str, QuerySet[Thread]]]", *columns: str | Case
) -> "QuerySet[Any, Any]":
    """Read several slices of threads in one query. Each row begins with the name of its slice.

    SQLite does not allow LIMIT in a part of a UNION, so each part has its LIMIT in a subquery that
    selects the ids.
    """
    named = [
        Thread.objects.filter(pk__in=rows.values("pk"))
        .annotate(part=Value(name))
        .order_by()
        .values_list("part", *columns)
        for name, rows in parts
    ]
    first, *others = named
    return first.union(*others, all=True)


def counts(rows: ThreadQuerySet, person: User) -> Counter[str]:
    """Count the threads of each view up to CAP, in one query."""
    parts = ((name, view.keep(rows.order_by(), person)[:CAP]) for name, view in VIEWS.items())
    return Counter(name for name, _ in slices(parts, "pk"))


def last_answer(rows: ThreadQuerySet, person: User) -> tuple[datetime, str] | None:
    """Find when the last answer in the latest assigned threads was sent, and by which agent."""
    latest = ("open", "resolved", "archived")
    parts = [(name, VIEWS[name].keep(rows, person).order_by(*LATEST)[:SHOWN]) for name in latest]
    said = Message.objects.filter(thread=OuterRef("pk"), message_type=MessageType.AGENT_MESSAGE)

    def of_newest(column: str) -> Case:
        newest = Subquery(said.order_by("-position").values(column)[:1])
        return Case(When(assignee__isnull=False, then=newest))

    found = slices(parts, of_newest("created_at"), of_newest("agent_name"))
    return max(((at, name or "an agent") for _, at, name in found if at), default=None)


class News(NamedTuple):
    """A digest of what an open page shows, and a stamp for each row (see `stamp`)."""

    tag: str
    rows: list[str]


def stamp(key: UUID, updated: datetime) -> str:
    """Identify a row and its state, so that an open page can count the rows that have changed."""
    return f"{key}:{updated.timestamp()}"


def news(rows: ThreadQuerySet, person: User, name: str, *, minute: int) -> News:
    """Summarize the first page of a view and the menu's count of waiting threads.

    If a thread on the page is waiting, the digest also depends on `minute`, because the page shows
    the waiting time in minutes.
    """
    view = VIEWS[name]
    first = view.keep(rows, person).order_by(*view.key)[:SHOWN]
    waiting = rows.waiting().order_by()[:CAP]
    columns = ("pk", "updated_at", "unread_messages_count", "waiting_since", "assignee")
    found = sorted(slices([("page", first), ("waiting", waiting)], *columns), key=str)
    page = [row[1:] for row in found if row[0] == "page"]
    waits = any(since for *_, since in page)
    state = (found, minute if waits else None)
    stamps = [stamp(key, updated) for key, updated, *_ in page]
    return News(blake2b(repr(state).encode(), digest_size=12).hexdigest(), stamps)


def with_words(rows: ThreadQuerySet, *, found: Iterable[UUID] = ()) -> ThreadQuerySet:
    """Annotate threads with the message to quote.

    The quoted message is the newest message in `found`, or else the thread's last message that
    somebody wrote. `words` is the beginning of its text, `speaker` is its type, and `agent_name`
    names an agent. All are null if there is no message.
    """
    said = Message.objects.filter(thread=OuterRef("pk")).order_by("-position")
    quoted = [said.exclude(message_type=MessageType.SYSTEM_MESSAGE), said]
    if found:
        quoted.insert(0, said.filter(pk__in=found))
    begin = Substr("content", 1, WORDS)

    def first(column: str) -> Coalesce:
        found = (Subquery(q.annotate(begin=begin).values(column)[:1]) for q in quoted)
        return Coalesce(*found, Value(None))

    columns = {"words": "begin", "speaker": "message_type", "agent_name": "agent_name"}
    return rows.annotate(**{name: first(column) for name, column in columns.items()})
