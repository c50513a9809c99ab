"""Threads: conversations between a visitor and a bot. Specification: Resources, Thread."""

from django.conf import settings
from django.db import models
from django.utils import timezone

from chatbots.models import Chatbot
from chatbots.models.erasable import ErasableRow, PresentRows, purge_index
from chatbots.models.llm_model import effective_columns
from config.database.lengths import LONG, SHORT
from conversations.models.visitor import Visitor

MOST_TAGS = 100
LATEST = ("-updated_at", "-id")
OPEN = {"resolved": False, "archived": False}
DISLIKED, FALLBACK = models.Q(negative_count__gt=0), models.Q(fallback_at__isnull=False)
SELECTIVE_VIEWS: dict[str, tuple[tuple[str, ...], models.Q]] = {
    "waiting": (("waiting_since", "id"), models.Q(waiting_since__isnull=False, **OPEN)),
    "escalated": (LATEST, models.Q(escalated=True, **OPEN)),
    "unassigned": (LATEST, models.Q(escalated=True, assignee__isnull=True, **OPEN)),
    "unread": (LATEST, models.Q(unread_messages_count__gt=0, **OPEN)),
    "important": (LATEST, models.Q(important=True)),
    "bad_answer": (LATEST, DISLIKED | FALLBACK),
    "resolved": (LATEST, models.Q(resolved=True)),
    "archived": (LATEST, models.Q(archived=True)),
    "platform": (("platform_source", *LATEST), models.Q(platform_source__gt="")),
}


class Mode(models.TextChoices):
    """Who answers in a thread. Open point: mode."""

    AI = "AI"
    AGENT = "AGENT"


MODES: dict[bool, str] = {False: Mode.AI.value, True: Mode.AGENT.value}  # by `escalated`


class ThreadQuerySet(models.QuerySet["Thread"]):
    """Adds the sort orders and filters that lists of threads need."""

    def latest_first(self) -> "ThreadQuerySet":
        """Order by activity, latest first. Open point: thread-list."""
        return self.order_by("-updated_at", "-id")

    def of_page(self, limit: int, offset: int) -> "ThreadQuerySet":
        """Select a page, latest first.

        A subquery selects the page's ids, so that the rows before the page are skipped in the index
        and need no joins. The outer query selects these ids from all threads. It does not repeat
        this queryset's conditions. If it did, SQLite, which has no statistics here, would read all
        rows that meet them.
        """
        ids = self.latest_first()[offset : offset + limit].values("pk")
        return Thread.objects.filter(pk__in=ids).latest_first()

    def with_llm(self) -> "ThreadQuerySet":
        """Annotate each thread with `llm_id`, `llm_provider` and `llm_title` of its bot's model."""
        chosen = models.OuterRef("chatbot__generalsettings__llm_model")
        return self.annotate(**effective_columns(chosen))

    def open(self) -> "ThreadQuerySet":
        """Select the threads that are neither resolved nor archived."""
        return self.filter(resolved=False, archived=False)

    def waiting(self) -> "ThreadQuerySet":
        """Select the open threads whose visitor is waiting for an agent."""
        return self.open().filter(waiting_since__isnull=False)


class Thread(ErasableRow):
    """A conversation between a visitor and a bot.

    Storing a message locks this row and gives the message the position `last_position + 1`. The
    history is ordered, paged and indexed by `position`.
    """

    chatbot = models.ForeignKey(Chatbot, on_delete=models.CASCADE, related_name="threads")
    visitor = models.ForeignKey(Visitor, on_delete=models.CASCADE, related_name="threads")
    title = models.CharField(max_length=SHORT, blank=True)
    # The API caller's value. It is null if the caller gave no value, or if a later update of the
    # thread changed whether the visitor is identified. If it is null, `anonymous` in
    # models/visitor.py derives the value.
    anonymous = models.BooleanField(null=True)
    escalated = models.BooleanField(default=False)
    important = models.BooleanField(default=False)
    resolved = models.BooleanField(default=False)
    archived = models.BooleanField(default=False)
    unread_messages_count = models.PositiveIntegerField(default=0)
    positive_count = models.PositiveIntegerField(default=0)
    negative_count = models.PositiveIntegerField(default=0)
    fallback_at = models.DateTimeField(null=True, editable=False)  # the last fallback message
    tags = models.JSONField(default=list, blank=True)
    internal_notes = models.TextField(max_length=LONG, blank=True)
    platform_source = models.CharField(max_length=SHORT, blank=True)
    started_at = models.DateTimeField(default=timezone.now)
    ended_at = models.DateTimeField(null=True, blank=True)
    last_position = models.PositiveIntegerField(default=0)
    visitor_messages_count = models.PositiveIntegerField(default=0)
    taken_over_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    taken_over_at = models.DateTimeField(null=True, editable=False)
    # The person who takes care of the thread: the last one who took it over, answered in it or was
    # assigned. Not in the API. This value is kept when the thread returns to the AI.
    assignee = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        on_delete=models.SET_NULL,
        related_name="+",
        db_index=False,
    )
    # When the visitor of an escalated thread began to wait. An escalation sets this time. An
    # agent's answer or a return to the AI clears it. While the thread is escalated, the visitor's
    # first message after an answer or a resolution sets it again.
    waiting_since = models.DateTimeField(null=True, editable=False)
    reminded_at = models.DateTimeField(null=True, editable=False)  # when staff were last reminded

    objects = PresentRows.from_queryset(ThreadQuerySet)()

    class Meta:
        verbose_name = "conversation"
        default_manager_name = "objects"
        indexes = [
            # Without `erased_at` in this index, reading a page would fetch the rows of all earlier
            # pages.
            models.Index(
                fields=["chatbot", "-updated_at", "-id", "erased_at"], name="thread_latest"
            ),
            # Indexes for the inbox's views and its platform filter. Each entry of SELECTIVE_VIEWS
            # has one index for users who see all chatbots and one for users who see only some.
            models.Index(
                fields=["-updated_at", "-id"],
                name="thread_open",
                condition=models.Q(resolved=False, archived=False),
            ),
            models.Index(
                fields=["assignee", "-updated_at", "-id"],
                name="thread_of_assignee",
                condition=models.Q(assignee__isnull=False),
            ),
            models.Index(
                fields=["assignee", "-updated_at", "-id"],
                name="thread_open_of_assignee",
                condition=models.Q(assignee__isnull=False, **OPEN),
            ),
            *(
                models.Index(
                    fields=[*scope, *fields],
                    name=f"thread_{view}{'_of_bot' if scope else ''}",
                    condition=condition,
                )
                for view, (fields, condition) in SELECTIVE_VIEWS.items()
                for scope in ([], ["chatbot"])
            ),
            purge_index("thread_purge"),
        ]

    def __str__(self) -> str:
        return self.title or f"thread {self.pk}"

    @property
    def is_waiting(self) -> bool:
        """Return whether the query `waiting` selects this thread."""
        return bool(self.waiting_since) and not (self.resolved or self.archived)

    @property
    def dashboard_url(self) -> str:
        """Return the URL of the thread's page in the admin."""
        return f"{settings.PUBLIC_URL}/admin/conversations/thread/{self.pk}/change/"
