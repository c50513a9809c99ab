"""What is known about the request, command or task that runs: its id, its caller, who acts.

Log lines, the access log, versions and the audit trail read it. Each step that finds something out
replaces the context; what a request has found out ends with the request.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple
from uuid import UUID


class Context(NamedTuple):
    """What is known; texts are empty until then. It never holds a request's contents."""

    request_id: str = ""
    route: str = ""  # with the method
    key: str = ""  # the public part of the caller's API key
    user: str = ""  # the id of the admin's user
    account: str = ""  # the id of the account that is acted on
    person: UUID | None = None  # who acts, if it is a person
    via: str = "service"  # "admin", "API key cbk_…", "command NAME"; the service's own work


OWN_WORK = Context()  # of the service itself
current: ContextVar[Context] = ContextVar("current", default=OWN_WORK)


@contextmanager
def acting(context: Context) -> Iterator[None]:
    """Run the block in a context, which later steps may replace; then return to the earlier one."""
    token = current.set(context)
    try:
        yield
    finally:
        current.reset(token)


def current_person() -> UUID | None:
    """Return the id of the person who acts; None if it is not a person."""
    return current.get().person


def current_via() -> str:
    """Return the way in which the person, command or service acts."""
    return current.get().via
