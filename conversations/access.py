"""Open and lock the threads of a chatbot."""

from uuid import UUID

from django.db.models import QuerySet, UUIDField

from config.api.errors import NotFound
from config.api.fields import Identifier
from config.database.prepared import Given, prepared
from conversations.models import Thread


class ThreadNotFound(NotFound):
    """Raised if the chatbot has no such thread, even if another chatbot has."""

    message = "thread not found"


def thread_key(thread_id: str) -> UUID:
    """Parse a thread's id of the path. Raises ThreadNotFound."""
    if not Identifier.FORM.fullmatch(thread_id):
        raise ThreadNotFound
    return UUID(thread_id)


def given_thread() -> "QuerySet[Thread]":
    """Return a given thread of a given chatbot."""
    return Thread.objects.filter(
        chatbot=Given("chatbot", UUIDField()), pk=Given("thread", UUIDField())
    )


def present(thread: Thread | None) -> Thread:
    """Return a thread that was found. Raises ThreadNotFound, also if its chatbot is erased."""
    if thread is None or thread.chatbot.erased_at:
        raise ThreadNotFound
    return thread


def read_thread(thread_id: UUID) -> Thread:
    """Return a thread's current state without locking it. Raises ThreadNotFound."""
    return present(Thread.objects.select_related("chatbot", "visitor").filter(pk=thread_id).first())


# PostgreSQL reads locked rows as they are once it has the lock. The other rows are as they were
# before it waited: they are never locked, so they may change at any time anyway.
LOCKED = prepared(
    lambda of_chatbot: (
        (given_thread() if of_chatbot else Thread.objects.filter(pk=Given("thread", UUIDField())))
        .select_for_update(of=("self", "visitor"))
        .select_related("chatbot__account__plan", "chatbot__endpoint", "visitor")
    )
)


def lock_thread(thread_id: UUID, *, chatbot_id: UUID | None = None) -> Thread:
    """Lock a thread, then its visitor, until the transaction ends. Returns their current state.

    Raises ThreadNotFound, also if the thread is not one of the given chatbot.
    """
    of_chatbot = chatbot_id is not None
    return present(LOCKED.first(of_chatbot, thread=thread_id, chatbot=chatbot_id))
