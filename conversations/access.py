"""Find a thread below its chatbot."""

from uuid import UUID

from chatbots.models import Chatbot
from config.api.errors import NotFound
from config.api.viewsets import identifier
from conversations.models import Thread


class ThreadNotFound(NotFound):
    """No such thread in this chatbot; one of another chatbot is answered the same."""

    message = "thread not found"


def open_thread(chatbot: Chatbot, thread_id: str) -> Thread:
    """Find a thread of a chatbot, without its lock. Raises ThreadNotFound."""
    try:
        key = identifier(thread_id)
    except NotFound:
        raise ThreadNotFound from None
    threads = Thread.objects.select_related("chatbot__account__plan", "visitor")
    thread = threads.filter(chatbot=chatbot, pk=key).first()
    if thread is None:
        raise ThreadNotFound
    return thread


def lock_thread(thread_id: UUID) -> Thread:
    """Read a thread afresh and keep others from writing to it until the transaction ends.

    Raises ThreadNotFound, also where its chatbot is erased.
    """
    if not Thread.objects.select_for_update().filter(pk=thread_id).values_list("pk").first():
        raise ThreadNotFound
    # In a second statement: what was committed while we waited for the lock belongs to it
    thread = Thread.objects.select_related("chatbot__account__plan", "visitor").get(pk=thread_id)
    if thread.chatbot.erased_at:
        raise ThreadNotFound
    return thread
