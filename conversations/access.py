"""Open and lock the threads of a chatbot."""

from uuid import UUID

from django.db.models import QuerySet, UUIDField

from config.api.errors import NotFound
from config.api.viewsets import identifier
from config.database.prepared import Given, prepared
from conversations.models import Thread


class ThreadNotFound(NotFound):
    """Raised if the chatbot has no such thread, even if another chatbot has."""

    message = "thread not found"


def thread_key(thread_id: str) -> UUID:
    """Parse a thread's id of the path. Raises ThreadNotFound."""
    try:
        return identifier(thread_id)
    except NotFound:
        raise ThreadNotFound from None


def given_thread() -> "QuerySet[Thread]":
    """Return a given thread of a given chatbot."""
    return Thread.objects.filter(
        chatbot=Given("chatbot", UUIDField()), pk=Given("thread", UUIDField())
    )


THREAD = prepared(lambda: given_thread().select_related("chatbot__account__plan", "visitor"))


def open_thread(chatbot_id: UUID, thread_id: str) -> Thread:
    """Return a thread of a chatbot without locking it. Raises ThreadNotFound."""
    thread = THREAD.first(chatbot=chatbot_id, thread=thread_key(thread_id))
    if thread is None:
        raise ThreadNotFound
    return thread


def lock_thread(thread_id: UUID) -> Thread:
    """Lock a thread's row until the transaction ends and return its current state.

    Raises ThreadNotFound, also if its chatbot is erased.
    """
    if not Thread.objects.select_for_update().filter(pk=thread_id).values_list("pk").first():
        raise ThreadNotFound
    # Read in a second statement, to see what was committed while we waited for the lock.
    thread = Thread.objects.select_related("chatbot__account__plan", "visitor").get(pk=thread_id)
    if thread.chatbot.erased_at:
        raise ThreadNotFound
    return thread
