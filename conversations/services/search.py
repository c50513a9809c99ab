"""Find threads by words in their messages, by their visitor's name or email address, or by tags.

The initial migration creates the indexes: FTS5 tables on SQLite, GIN indexes on PostgreSQL. Each
entry contains a word that identifies its chatbot, so the index itself limits a search to the user's
chatbots, however many entries other chatbots have. No text can contain such a word.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from unicodedata import normalize
from uuid import UUID

from django.db import connection
from django.db.models.expressions import RawSQL

from config.database.lengths import SHORT
from conversations.models.thread import ThreadQuerySet

NEWEST = 200  # maximum number of hits of each kind
NEWEST_KEPT = 2_000  # maximum number of threads that a filter or a search by name selects
SHORTEST_BEGINNING = 3  # minimum length of an incomplete ASCII word
MOST_WORDS = 10
WORD = re.compile(r"[^\W_]+")
ACCENT = re.compile(r"[\u0300-\u036f]")

# A search of names, email addresses or tags allows the last word to be incomplete (`begun`).
SQLITE_MESSAGES = """
    SELECT said.thread_id, said.id
    FROM conversations_message_words AS entry
    CROSS JOIN conversations_message AS said ON said.rowid = entry.rowid
    WHERE conversations_message_words MATCH %(words)s
    ORDER BY entry.rowid DESC LIMIT %(most)s
"""
SQLITE_VISITORS = """
    SELECT thread.id FROM (
        SELECT rowid FROM conversations_visitor_words
        WHERE conversations_visitor_words MATCH %(begun)s
        ORDER BY rowid DESC LIMIT %(most)s
    ) AS entry
    CROSS JOIN conversations_visitor AS visitor ON visitor.rowid = entry.rowid
    CROSS JOIN conversations_thread AS thread ON thread.visitor_id = visitor.id
    ORDER BY thread.id DESC LIMIT %(most)s
"""
SQLITE_TAGS = """
    SELECT thread.id FROM conversations_tag_words AS entry
    CROSS JOIN conversations_thread AS thread ON thread.rowid = entry.rowid
    WHERE conversations_tag_words MATCH %(begun)s
    ORDER BY entry.rowid DESC LIMIT %(most)s
"""
POSTGRESQL_MESSAGES = """
    SELECT thread_id, id FROM conversations_message
    WHERE words @@ %(words)s::tsquery
    ORDER BY id DESC LIMIT %(most)s
"""
POSTGRESQL_VISITORS = """
    SELECT thread.id FROM (
        SELECT id FROM conversations_visitor
        WHERE (name <> '' OR email <> '') AND (
            conversations_words(name || ' ' || email)
            || array_to_tsvector(ARRAY['bot:' || replace(chatbot_id::text, '-', '')])
        ) @@ %(begun)s::tsquery
        ORDER BY id DESC LIMIT %(most)s
    ) AS visitor JOIN conversations_thread AS thread ON thread.visitor_id = visitor.id
    ORDER BY thread.id DESC LIMIT %(most)s
"""
POSTGRESQL_TAGS = """
    SELECT id FROM conversations_thread
    WHERE tags <> '[]' AND (
        conversations_words(tags::text)
        || array_to_tsvector(ARRAY['bot:' || replace(chatbot_id::text, '-', '')])
    ) @@ %(begun)s::tsquery
    ORDER BY id DESC LIMIT %(most)s
"""


def union(messages: str, visitors: str, tags: str) -> str:
    """Combine the three statements. Each row has a kind, a thread's id and a message's id.

    The kinds are 1 for messages, 2 for visitors and 3 for tags. Only rows of kind 1 have a
    message's id.
    """
    return f"""
        SELECT 1, thread_id, id FROM ({messages}) AS message_hits
        UNION ALL SELECT 2, id, NULL FROM ({visitors}) AS visitor_hits
        UNION ALL SELECT 3, id, NULL FROM ({tags}) AS tag_hits
    """  # noqa: S608 - our own constants only


SQLITE = union(SQLITE_MESSAGES, SQLITE_VISITORS, SQLITE_TAGS)
POSTGRESQL = union(POSTGRESQL_MESSAGES, POSTGRESQL_VISITORS, POSTGRESQL_TAGS)
# The array makes PostgreSQL collect the ids first. Otherwise, it might scan and test all threads.
COLLECTED = {"sqlite": "{}", "postgresql": "SELECT unnest(ARRAY({}))"}
TAGS = {"sqlite": SQLITE_TAGS, "postgresql": POSTGRESQL_TAGS}
VISITORS = {"sqlite": SQLITE_VISITORS, "postgresql": POSTGRESQL_VISITORS}


@dataclass
class Hits:
    """The threads and messages that a search found, and whether there are more hits."""

    threads: set[UUID] = field(default_factory=set)
    messages: set[UUID] = field(default_factory=set)
    more: bool = False


def find(text: str, chatbots: Sequence[UUID] | None) -> Hits:
    """Find the newest messages, visitors and tags that contain all words in `text`, with one query.

    `chatbots` are the ids of the chatbots that the user may see, or None for all.
    """
    words = words_of(text)
    if not words or (chatbots is not None and not chatbots):
        return Hits()
    given: dict[str, str | int] = {
        "words": query(words, chatbots, begun=False),
        "begun": query(words, chatbots, begun=True),
        "most": NEWEST + 1,
    }
    with connection.cursor() as cursor:
        cursor.execute(SQLITE if connection.vendor == "sqlite" else POSTGRESQL, given)
        rows = cursor.fetchall()
    messages = [UUID(str(message)) for _, _, message in rows if message]
    return Hits(
        {UUID(str(thread)) for _, thread, _ in rows},
        set(messages[:NEWEST]),
        more=any(count > NEWEST for count in Counter(kind for kind, _, _ in rows).values()),
    )


def tagged(rows: ThreadQuerySet, text: str, chatbots: Sequence[UUID] | None) -> ThreadQuerySet:
    """Select up to NEWEST_KEPT of the newest threads whose tags contain the words."""
    return kept(rows, TAGS[connection.vendor], text, chatbots)


def named(rows: ThreadQuerySet, text: str, chatbots: Sequence[UUID] | None) -> ThreadQuerySet:
    """Select the newest threads whose visitor's name or email address contains the words."""
    return kept(rows, VISITORS[connection.vendor], text, chatbots)


def with_initial(
    rows: ThreadQuerySet, text: str, chatbots: Sequence[UUID] | None
) -> ThreadQuerySet:
    """Select the newest threads whose visitor matches a name and an initial, such as "anna b".

    The index cannot find initials (see `query`). It is used to find the visitors who match the
    other words, and the names of these visitors are then searched for the initial.
    """
    words = words_of(text)
    if len(words) < 2 or len(words[-1]) >= SHORTEST_BEGINNING:
        return rows.none()
    found = kept(rows, VISITORS[connection.vendor], " ".join(words[:-1]), chatbots)
    return found.filter(visitor__name__icontains=f" {words[-1]}")


def kept(
    rows: ThreadQuerySet, part: str, text: str, chatbots: Sequence[UUID] | None
) -> ThreadQuerySet:
    """Filter `rows` by the ids of the newest threads that the statement `part` finds."""
    words = words_of(text)
    if not words or (chatbots is not None and not chatbots):
        return rows.none()
    given = {"begun": query(words, chatbots, begun=True), "most": NEWEST_KEPT}
    names = re.findall(r"%\((\w+)\)s", part)
    sql = COLLECTED[connection.vendor].format(part % dict.fromkeys(names, "%s"))
    return rows.filter(pk__in=RawSQL(sql, [given[name] for name in names]))  # noqa: S611


def words_of(text: str) -> list[str]:
    """Split text into search words, in lower case and, on PostgreSQL, without accents."""
    whole = normalize("NFC", text[:SHORT])
    if connection.vendor == "postgresql":  # SQLite's tokenizer removes accents itself
        whole = normalize("NFC", ACCENT.sub("", normalize("NFD", whole)))
    return [word.lower() for word in WORD.findall(whole)[:MOST_WORDS]]


class Syntax(NamedTuple):
    """A database's search syntax. Words consist of letters and digits, so they need no escaping."""

    quote: str  # surrounds a word; in FTS5, a quoted AND or OR is a word, not an operator
    begun: str  # follows a word that may be incomplete
    scope: str  # prefix of the word that identifies a chatbot; no other word begins with it
    either: str
    both: str


SYNTAX = {
    "sqlite": Syntax('"', "*", "\ue000", " OR ", " AND "),
    "postgresql": Syntax("'", ":*", "bot:", " | ", " & "),
}


def query(words: list[str], chatbots: Sequence[UUID] | None, *, begun: bool) -> str:
    """Build a query for the words, limited to these chatbots, in the database's search syntax.

    With `begun`, the last word may be incomplete. This does not apply to words of one or two ASCII
    characters, because too many names begin with them.
    """
    syntax = SYNTAX[connection.vendor]
    terms = [f"{syntax.quote}{word}{syntax.quote}" for word in words]
    if begun and (len(words[-1]) >= SHORTEST_BEGINNING or not words[-1].isascii()):
        terms[-1] += syntax.begun
    if chatbots:
        scopes = [f"{syntax.quote}{syntax.scope}{key.hex}{syntax.quote}" for key in chatbots]
        terms.append(f"({syntax.either.join(scopes)})")
    return syntax.both.join(terms)
