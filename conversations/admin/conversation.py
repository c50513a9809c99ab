"""Read what a thread's page shows: the thread's messages, in pages of 50, and related rows."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Count, Max, OuterRef, Q, QuerySet, Subquery
from django.http import HttpRequest
from django.utils.html import urlize
from django.utils.safestring import SafeString

from accounts.models import User
from config.admin.keyset import whole_id
from conversations.admin.origins import explained
from conversations.models import CannedReply, Draft, Message, Thread, TimelineEntry
from conversations.models.canned_reply import MOST
from conversations.models.message import MessageType
from conversations.models.thread import ThreadQuerySet
from conversations.services import history
from conversations.services.reactions import counter
from webhooks.models import Delivery
from webhooks.models.delivery import State

PAGE = 50
ENTRIES = 200  # maximum number of notes and acts between the messages of a page
LINKED = 4_000  # texts longer than this are not searched for URLs, because the search is slow
TRIED = 2_000  # maximum length of a question in the URL of "Try it"
OTHER_THREADS = 5
COUNTED = 100  # maximum number of deliveries to count per thread

KINDS = {
    MessageType.USER_MESSAGE: "visitor",
    MessageType.AI_MESSAGE: "bot",
    MessageType.AGENT_MESSAGE: "agent",
    MessageType.SYSTEM_MESSAGE: "system",
}

# The `rel` attribute that `urlize` writes, and the one that replaces it. Escaped text cannot
# contain either of them, because its quotes are escaped.
REL = ' rel="nofollow"', ' rel="noopener nofollow noreferrer"'
FLAGS = ("escalated", "resolved", "important", "archived")
THUMBS = {"positive_count": ("thumbs up", "good"), "negative_count": ("thumbs down", "bad")}
SENT = {State.SUCCESS.value: "sent"}  # delivery states that the page labels differently


def with_links(text: str) -> SafeString:
    """Escape text, and turn its URLs into links that send no referrer."""
    return SafeString(urlize(text, nofollow=True, autoescape=True).replace(*REL))


@dataclass(frozen=True)
class Bubble:
    """A message as the page shows it."""

    message: Message
    why: Sequence[str] = ()  # lines that explain an AI message
    entries: Sequence[TimelineEntry] = ()  # what staff did after the message

    @property
    def kind(self) -> str:
        """Return the CSS class that sets the bubble's side and color."""
        return KINDS[MessageType(self.message.message_type)]

    @property
    def who(self) -> str:
        """Return the speaker's name or role."""
        names = {"visitor": "Visitor", "bot": "AI", "system": "System"}
        return names.get(self.kind) or self.message.agent_name or "Agent"

    @property
    def words(self) -> str:
        """Return the text with its URLs as links, or the plain text if it is longer than LINKED."""
        content = self.message.content
        return with_links(content) if len(content) <= LINKED else content

    @property
    def sources(self) -> list[dict[str, str]]:
        """List a reply's sources that have an http or https URL."""
        return [
            source
            for source in self.message.source
            if str(source.get("url", "")).startswith(("https://", "http://"))
        ]

    @property
    def reaction(self) -> tuple[str, str] | None:
        """Return the label and the CSS class of the visitor's reaction, or None.

        An unknown reaction is shown as it is, without a class.
        """
        given = self.message.reaction
        return THUMBS.get(counter(given) or "", (given, "")) if given else None

    @property
    def made_by(self) -> str:
        """Return a reply's model and response time, or the reason for a fallback."""
        message = self.message
        if message.fallback_reason:
            return f"fallback message: {message.fallback_reason}"
        if message.reply_ms is None:
            return str(message.llm_model or "fallback message")
        return f"{message.llm_model or 'deleted model'}, {message.reply_ms:,} ms"

    @property
    def question(self) -> str:
        """Return the question of a fallback or disliked reply, for trying it again, or ""."""
        message = self.message
        bad = message.fallback_reason or counter(message.reaction) == "negative_count"
        return message.parent_message.content[:TRIED] if bad and message.parent_message else ""

    @property
    def draft(self) -> Draft | None:
        """Return the draft made from a late reply to this message, or None."""
        return getattr(self.message, "draft", None)


@dataclass(frozen=True)
class Excerpt:
    """A page of a thread's messages, oldest first, and whether there are older ones."""

    bubbles: list[Bubble]
    older: bool
    entries: Sequence[TimelineEntry] = ()  # what staff did before the thread's first message

    @property
    def newest_entry(self) -> UUID | None:
        """Return the id of the newest entry on the page, as `with_extras` does.

        Entries before the first message count only while there is room for more messages.
        """
        before = self.entries if len(self.bubbles) < PAGE else ()
        found = [*before, *(entry for bubble in self.bubbles for entry in bubble.entries)]
        return found[-1].pk if found else None

    @property
    def first_id(self) -> str:
        """Return the id of the first message, for the link to older messages."""
        return str(self.bubbles[0].message.pk) if self.bubbles else ""

    @property
    def last_id(self) -> str:
        """Return the id of the last message, which is the newest one on this page."""
        return str(self.bubbles[-1].message.pk) if self.bubbles else ""


def with_extras(threads: ThreadQuerySet) -> ThreadQuerySet:
    """Annotate each thread with the drafts' number and newest time, and with the newest entry.

    Counts only what the thread's page shows. These values let a poll notice every change, because
    drafts and timeline entries are never edited, and entries are never deleted.
    """
    last = OuterRef("last_position")
    entries = TimelineEntry.objects.filter(
        thread=OuterRef("pk"), position__range=(last - PAGE + 1, last)
    )
    shown = Draft.objects.filter(
        message__thread=OuterRef("pk"),
        # Without the upper bound, PostgreSQL would overestimate the row count and read all drafts.
        message__position__range=(last - PAGE + 1, last),
    )
    grouped = shown.order_by().values("message__thread")
    return threads.annotate(
        drafts_count=Subquery(grouped.values_list(Count("pk"))),
        newest_draft_at=Subquery(grouped.values_list(Max("created_at"))),
        newest_entry=Subquery(entries.order_by("-position", "-id").values("pk")[:1]),
    )


def state_of(
    thread: Thread, drafts_count: int, newest_draft_at: datetime | None, entry: UUID | None
) -> str:
    """Return the state that the page shows. Each poll reports it to the page's script."""
    flags = [name for name in FLAGS if getattr(thread, name)]
    if thread.is_waiting:
        flags.append("waiting")
    drafts = [f"{drafts_count}-{newest_draft_at.timestamp()}"] if newest_draft_at else []
    people = [str(thread.taken_over_by_id or ""), str(thread.assignee_id or "")]
    return " ".join([*flags, *people, *drafts, *([str(entry)] if entry else [])])


def read(messages: "QuerySet[Message]") -> list[Message]:
    """Read messages with what their bubbles show."""
    return list(messages.select_related("draft", "llm_model", "origin", "parent_message"))


def excerpt_of(thread: Thread, shown: list[Message], *, older: bool) -> Excerpt:
    """Build the bubbles of messages, oldest first, with what staff did after each of them.

    Only the newest ENTRIES entries are read.
    """
    begin, end = (shown[0].position, shown[-1].position) if shown else (0, 0)
    entries = TimelineEntry.objects.filter(
        thread=thread, position__range=(begin if older else 0, end)
    )
    newest_first = entries.select_related("author", "assignee").order_by("-position", "-id")
    after: dict[int, list[TimelineEntry]] = {}
    for entry in reversed(newest_first[:ENTRIES]):
        after.setdefault(entry.position, []).append(entry)
    why = explained(shown)
    found = [Bubble(one, why.get(one.pk, ()), after.get(one.position, ())) for one in shown]
    return Excerpt(found, older, after.get(0, ()))


def newest(thread: Thread, before: str | None) -> Excerpt:
    """Read the newest page of messages, or a page of messages older than `before`.

    An unknown id in `before` is ignored.
    """
    mark = whole_id(before or "")
    known = mark if mark and thread.messages.filter(pk=mark).exists() else None
    page = read(history.page(PAGE, thread=thread.pk, before=known))
    return excerpt_of(thread, page[:PAGE][::-1], older=len(page) > PAGE)


def excerpt_context(thread: Thread, request: HttpRequest) -> dict[str, Any]:
    """Return the template context: the page of messages, the newest message seen, and the state.

    The links to older messages contain the id of the newest message that the agent has seen. If the
    request lacks that id, the newest message on the page counts as the newest one seen.
    """
    before = request.GET.get("before")
    excerpt = newest(thread, before)
    seen = whole_id(request.GET.get("seen", "")) if before else None
    drafts = [bubble.draft.created_at for bubble in excerpt.bubbles if bubble.draft]
    return {
        "before": before,
        "excerpt": excerpt,
        "newest_seen": seen or excerpt.last_id,
        "state": state_of(thread, len(drafts), max(drafts, default=None), excerpt.newest_entry),
    }


def place_of(thread: Thread, message_id: str) -> str:
    """Return the query string and fragment that show a message, or "" if it is not in the thread.

    Up to half a page of later messages is also shown.
    """
    wanted, rows = whole_id(message_id), Message.objects.filter(thread=thread)
    message = rows.filter(pk=wanted).first() if wanted else None
    if message is None:
        return ""
    later = rows.filter(position__gt=message.position + PAGE // 2).order_by("position").first()
    before = f"?before={later.pk}" if later else ""
    return f"{before}#message-{message.position}"


def since(thread: Thread, position: int) -> list[Bubble]:
    """Read up to one page of the messages after a position."""
    rows = read(thread.messages.filter(position__gt=position).order_by("position")[:PAGE])
    return excerpt_of(thread, rows, older=True).bubbles if rows else []


def delivery_counts(thread: Thread) -> dict[str, int]:
    """Count a thread's newest deliveries (at most COUNTED) by the state label on the page."""
    rows = Delivery.objects.filter(thread_id=thread.pk).order_by("-id")
    states = rows.values_list("state", flat=True)[:COUNTED]
    return dict(Counter(SENT.get(state, state.lower()) for state in states))


def other_threads(thread: Thread) -> "QuerySet[Thread]":
    """Find the visitor's other threads, latest first."""
    rows = Thread.objects.filter(visitor=thread.visitor_id).exclude(pk=thread.pk)
    return rows.latest_first()[:OTHER_THREADS]


def neighbors(rows: Any, thread: Thread) -> tuple[Thread | None, Thread | None]:
    """Find a thread's two neighbors in the list of waiting threads, longest wait first.

    If the thread is not waiting, the first waiting thread counts as the next one. `rows` is a
    queryset.
    """
    waiting = rows.waiting().exclude(pk=thread.pk).order_by("waiting_since", "id")
    if not thread.waiting_since:
        return None, waiting.first()
    place = (thread.waiting_since, thread.pk)
    earlier = Q(waiting_since=place[0], pk__lt=place[1]) | Q(waiting_since__lt=place[0])
    before = waiting.filter(earlier, waiting_since__lte=place[0]).reverse().first()
    return before, waiting.filter(~earlier, waiting_since__gte=place[0]).first()


def canned_replies(thread: Thread, agent: User) -> list[tuple[CannedReply, str]]:
    """Read the account's canned replies, by name, each with its text for this conversation."""
    rows = CannedReply.objects.filter(account=thread.chatbot.account_id).order_by("name")
    names = {
        "visitor": thread.visitor.name,
        "agent": agent.get_full_name(),
        "bot": thread.chatbot.name,
    }
    return [(reply, reply.filled(**names)) for reply in rows[:MOST]]


def chosen_draft(thread: Thread, request: HttpRequest) -> Draft | None:
    """Find the draft that the agent is editing, by the id in the request."""
    wanted = whole_id(request.POST.get("draft") or request.GET.get("draft", ""))
    return Draft.objects.filter(pk=wanted, message__thread=thread).first() if wanted else None
