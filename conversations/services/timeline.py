"""Record what staff do in a conversation, and assign conversations to people.

None of this is part of the API, of an event or of a prompt, and none of it counts as activity.
"""

import re
from collections.abc import Iterable
from itertools import islice
from uuid import UUID

from django.db import transaction

from accounts.models import User
from accounts.services import change
from chatbots.models import Chatbot
from config.database.lengths import SHORT
from config.database.prepared import insert, update_columns
from conversations import notifications
from conversations.access import lock_thread
from conversations.models import Thread, TimelineEntry

Kind = TimelineEntry.Kind
MENTION, MENTIONS = re.compile(r"(?<!\w)@(?=\w)"), 10


class AssignedMeanwhile(Exception):
    """Raised if the assignee has changed since the form was shown."""

    def __init__(self, assignee: User | None) -> None:
        super().__init__("the conversation has been assigned in the meantime")
        self.assignee = assignee


class NotAnAgent(ValueError):
    """Raised if the person may not answer in the thread."""


def record(
    thread: Thread,
    kind: str,
    *,
    author: UUID | None,
    assignee: User | None = None,
    text: str = "",
) -> TimelineEntry:
    """Store an entry after the newest message of a locked thread."""
    entry = TimelineEntry(
        thread=thread,
        position=thread.last_position,
        kind=kind,
        author_id=author,
        assignee=assignee,
        text=text,
    )
    insert(entry)
    return entry


def assigned(thread: Thread, assignee: User | None, *, by: User) -> dict[str, User | None]:
    """Record a locked thread's new assignee in its timeline and in the audit trail, if it differs.

    Returns the column for the caller to save.
    """
    old = thread.assignee
    if old != assignee:
        kind = Kind.ASSIGNED if assignee else Kind.UNASSIGNED
        record(thread, kind, author=by.pk, assignee=assignee)
        change.record(
            thread,
            f"conversation {thread.pk}",
            account_id=thread.chatbot.account_id,
            changes={"assignee": [in_trail(old), in_trail(assignee)]},
        )
    return {"assignee": assignee}


def note(thread_id: UUID, text: str, *, author: User) -> None:
    """Add an internal note to a thread, and email the colleagues that it mentions.

    Raises ThreadNotFound.
    """
    with transaction.atomic():
        thread = lock_thread(thread_id)
        record(thread, Kind.NOTE, author=author.pk, text=text)
        agents = Chatbot.objects.filter(pk=thread.chatbot_id).agents().exclude(pk=author.pk)
        if told := mentioned(text, agents.values_list("email", "name") if "@" in text else ()):
            notifications.mentioned(thread, told, by=author, text=text)


def mentioned(text: str, people: Iterable[tuple[str, str]]) -> list[str]:
    """Return the email addresses of the people, given by address and name, that a text mentions.

    A mention is "@" followed by a full name, a first name or an email address. The longest name
    that fits decides: "@Sam Jones" does not mention Sam Smith. Returns at most MENTIONS people.
    """
    named: dict[str, list[str]] = {}
    for email, name in people:
        for one in {email.lower(), name.lower(), *name.lower().split()[:1]} - {""}:
            named.setdefault(one, []).append(email)
    told: list[str] = []
    for sign in islice(MENTION.finditer(text), MENTIONS):
        words = text[sign.end() : sign.end() + SHORT].lower()
        ends = (end for end in range(len(words), 0, -1) if not re.match(r"\w", words[end:]))
        told += next((named[words[:end]] for end in ends if words[:end] in named), [])
    return told[:MENTIONS]


def in_trail(person: User | None) -> str | None:
    """Return a person's name, or the id of a person without one. The trail has no addresses."""
    return (person.name or str(person.pk)) if person else None


def assign(
    thread_id: UUID, assignee: User | None, *, by: User, seen: str | None = None
) -> User | None:
    """Assign a thread to a person, or to nobody. Returns the previous assignee.

    `seen` is the id of the assignee that the form showed, "" for nobody, or None to replace any
    assignee. Raises ThreadNotFound, NotAnAgent, and AssignedMeanwhile if another assignee has been
    set since.
    """
    with transaction.atomic():
        thread = lock_thread(thread_id)
        agents = Chatbot.objects.filter(pk=thread.chatbot_id).agents()
        if assignee and not (assignee.is_superuser or agents.contains(assignee)):
            raise NotAnAgent("this person may not answer in the conversation")
        old = thread.assignee
        if old != assignee:
            if seen is not None and seen != str(thread.assignee_id or ""):
                raise AssignedMeanwhile(old)
            thread.assignee = assigned(thread, assignee, by=by)["assignee"]
            update_columns(thread, ["assignee"])
    return old
