"""Look up and lock threads, and read the values that a chatbot's threads share."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.db.models import OuterRef, QuerySet, Subquery, UUIDField

from chatbots.models import Chatbot
from chatbots.models.llm_model import effective_columns
from config.api.errors import NotFound
from config.api.fields import Identifier
from config.database.prepared import Given, prepared
from conversations.models import Message, Thread, ThreadCount


class ThreadNotFound(NotFound):
    """Raised if the chatbot has no such thread, or if the thread or the chatbot was erased."""

    message = "thread not found"


def thread_key(thread_id: str) -> UUID:
    """Parse a thread's id from a URL path. Raises ThreadNotFound if it is malformed."""
    if not Identifier.FORM.fullmatch(thread_id):
        raise ThreadNotFound
    return UUID(thread_id)


def given_thread() -> "QuerySet[Thread]":
    """Select a thread by the parameters `thread` and `chatbot` of a prepared query."""
    return Thread.objects.filter(
        chatbot=Given("chatbot", UUIDField()), pk=Given("thread", UUIDField())
    )


def messages() -> "QuerySet[Message]":
    """Select all messages. The caller filters them by a thread that it has already found."""
    return Message.objects.all()


def present(thread: Thread | None) -> Thread:
    """Return the thread. Raises ThreadNotFound if it is None or its chatbot is erased."""
    if thread is None or thread.chatbot.erased_at:
        raise ThreadNotFound
    return thread


def read_thread(thread_id: UUID) -> Thread:
    """Read a thread, its chatbot and its visitor without locking them. Raises ThreadNotFound."""
    return present(Thread.objects.select_related("chatbot", "visitor").filter(pk=thread_id).first())


# PostgreSQL re-reads a row after waiting for its lock. Joined rows that are not locked keep the
# values from before the wait. This is harmless, because an unlocked row could also change right
# after it is read.
LOCKED = prepared(
    lambda of_chatbot: (
        (given_thread() if of_chatbot else Thread.objects.filter(pk=Given("thread", UUIDField())))
        .select_for_update(of=("self", "visitor"))
        .select_related("chatbot__account__plan", "chatbot__endpoint", "visitor")
    )
)


def lock_thread(thread_id: UUID, *, chatbot_id: UUID | None = None) -> Thread:
    """Lock a thread and its visitor until the transaction ends, and return the thread.

    Both rows are read after they are locked. Raises ThreadNotFound if the thread does not exist or
    belongs to a different chatbot.
    """
    of_chatbot = chatbot_id is not None
    return present(LOCKED.first(of_chatbot, thread=thread_id, chatbot=chatbot_id))


COUNT = ThreadCount.objects.filter(chatbot=OuterRef("pk"))
OVERVIEW = prepared(
    lambda *columns: (
        Chatbot.objects.filter(pk=Given("chatbot", UUIDField()))
        .annotate(**effective_columns(OuterRef("generalsettings__llm_model")))
        .values_list(Subquery(COUNT.values("threads")), *columns)
    )
)


def overview(chatbot_id: UUID, columns: Iterable[str]) -> tuple[int, list[Any]]:
    """Return how many threads a chatbot has, and the chatbot's values in the given columns.

    The columns `llm_id`, `llm_provider` and `llm_title` describe the model that answers visitors. A
    list of threads needs this query only once, because all of its threads share these values.
    """
    total, *values = OVERVIEW.first(*columns, chatbot=chatbot_id) or (0,)
    return total or 0, values  # None until the chatbot has a thread
