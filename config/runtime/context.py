"""The context of the running request, command or task: its id, its caller and the acting person.

Log lines, the access log, versions and the audit trail include facts from the context. Each step
that adds a fact replaces the context. A request's context is discarded when the request ends.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple
from uuid import UUID


class Context(NamedTuple):
    """The facts known so far about a request, command or task.

    A string is empty if its value is unknown. A context never contains a request's body.
    """

    request_id: str = ""
    route: str = ""  # the method and the URL pattern
    key: str = ""  # the public part of the caller's API key
    user: str = ""  # the id of the person signed in to the admin
    account: str = ""  # the id of the account that is accessed
    person: UUID | None = None  # the id of the acting person, if any
    via: str = "service"  # the source: "service", "admin", "API key cbk_…" or "command NAME"


OWN_WORK = Context()  # the context when no request or command is running
current: ContextVar[Context] = ContextVar("current", default=OWN_WORK)


@contextmanager
def acting(context: Context) -> Iterator[None]:
    """Set the context for the block, and restore the previous context when the block ends."""
    token = current.set(context)
    try:
        yield
    finally:
        current.reset(token)


def current_person() -> UUID | None:
    """Return the id of the acting person, or None if no person is acting."""
    return current.get().person


def current_via() -> str:
    """Return the source of the current action: the service, the admin, an API key or a command."""
    return current.get().via
