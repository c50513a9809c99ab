"""Who acts: the person of the current request, or the command or worker that runs."""

import contextvars
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import UUID


@dataclass(frozen=True)
class Actor:
    """A person, if one is known, and the way in which they act."""

    person: UUID | None = None
    via: str = "service"  # "admin", "API key cbk_…", "command NAME"; the service's own work


SERVICE = Actor()
_current: contextvars.ContextVar[Actor] = contextvars.ContextVar("_current", default=SERVICE)


@contextmanager
def acting(actor: Actor) -> Iterator[None]:
    """Attribute the changes in the block to an actor, or to the one that `identify` sets later."""
    token = _current.set(actor)
    try:
        yield
    finally:
        _current.reset(token)


def identify(person: UUID | None, via: str) -> None:
    """Set the actor for the rest of the enclosing `acting` block."""
    _current.set(Actor(person, via))


def current() -> Actor:
    """Return the actor of this request, command or task."""
    return _current.get()


def current_person() -> UUID | None:
    """Return the id of the person who acts; None if it is not a person."""
    return current().person


def current_via() -> str:
    """Return the way in which the current actor acts."""
    return current().via
