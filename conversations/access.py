"""Look up, count and lock threads."""

from uuid import UUID

from django.db.models import QuerySet

from config.api.errors import NotFound
from config.api.fields import Identifier
from config.database.prepared import prepare
from conversations.models import Thread, ThreadCount
from conversations.models.thread import ThreadQuerySet


class ThreadNotFound(NotFound):
    """Raised if the chatbot has no such thread, or if the thread or the chatbot was erased."""

    message = "thread not found"


def thread_key(thread_id: str) -> UUID:
    """Parse a thread's id from a URL path. Raises ThreadNotFound if it is malformed."""
    if not Identifier.FORM.fullmatch(thread_id):
        raise ThreadNotFound
    return UUID(thread_id)


def thread_of(*, chatbot: UUID, thread: UUID) -> "ThreadQuerySet":
    """Select a thread of a chatbot."""
    return Thread.objects.filter(chatbot=chatbot, pk=thread)


def present(thread: Thread | None) -> Thread:
    """Return the thread. Raises ThreadNotFound if it is None or its chatbot is erased."""
    if thread is None or thread.chatbot.erased_at:
        raise ThreadNotFound
    return thread


def read_thread(thread_id: UUID) -> Thread:
    """Read a thread, its chatbot and its visitor without locking them. Raises ThreadNotFound."""
    return present(Thread.objects.select_related("chatbot", "visitor").filter(pk=thread_id).first())


def lock_thread(thread_id: UUID, *, chatbot_id: UUID | None = None) -> Thread:
    """Lock a thread and its visitor until the transaction ends, and return the thread.

    Both rows are read after they are locked. Raises ThreadNotFound if the thread does not exist or
    belongs to a different chatbot.
    """
    rows = Thread.objects.filter(pk=thread_id)
    if chatbot_id is not None:
        rows = rows.filter(chatbot=chatbot_id)
    # PostgreSQL re-reads a row after waiting for its lock. Joined rows that are not locked keep the
    # values from before the wait. This is harmless, because an unlocked row could also change right
    # after it is read.
    locked = rows.select_for_update(of=("self", "visitor"))
    return present(
        locked.select_related("chatbot__account", "chatbot__endpoint", "visitor").first()
    )


def counted(*, chatbot: UUID) -> "QuerySet[ThreadCount, tuple[int]]":
    """Select a chatbot's stored thread count."""
    return ThreadCount.objects.filter(chatbot=chatbot).values_list("threads")


COUNT = prepare(counted)


def thread_count(chatbot_id: UUID) -> int:
    """Return how many threads a chatbot has."""
    [count] = COUNT.first(chatbot=chatbot_id) or [0]
    return int(count)
