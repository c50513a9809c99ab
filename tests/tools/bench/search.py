"""Measure how fast the inbox searches a million messages in bots of very different sizes."""

import itertools
import random
import time
from collections.abc import Iterator
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.utils import timezone

from chatbots.models import Chatbot
from config.database.ids import new_id
from conversations.models import Thread, Visitor
from conversations.models.message import MessageType
from conversations.services import search
from tests.factories import bulk
from tests.factories.chatbots import ChatbotFactory
from tests.tools.bench.load import percentile

MESSAGES, OF_THREAD = 1_000_000, 20
BOTS = 40
WORDS, IN_MESSAGE = 30_000, 12
COMMON, RARE = (1, 2, 3, 5, 8, 15, 30, 60, 120, 250, 500), (1_000, 3_000, 9_000, 27_000)
BATCH = 10_000
ROUNDS = 3


def word(rank: int) -> str:
    """Return the word of this rank. The word of rank 1 is n times as frequent as that of rank n."""
    return f"w{rank}"


def texts(chance: random.Random) -> Iterator[str]:
    """Generate texts whose word frequencies are as uneven as those of a natural language."""
    ranks = range(1, WORDS + 1)
    weights = list(itertools.accumulate(1 / rank for rank in ranks))
    while True:
        drawn = chance.choices(ranks, cum_weights=weights, k=IN_MESSAGE * 1_000)
        for at in range(0, len(drawn), IN_MESSAGE):
            yield " ".join(map(word, drawn[at : at + IN_MESSAGE]))


def fill(count: int) -> list[Chatbot]:
    """Store messages for several bots. Each bot gets about half as many as the previous bot."""
    chance = random.Random(1)
    bots = [ChatbotFactory() for _ in range(BOTS)]
    weights = [2.0**-number for number in range(BOTS)]
    with transaction.atomic():
        threads = [
            new_thread(chance.choices(bots, weights=weights)[0], number)
            for number in range(count // OF_THREAD)
        ]
    said, position = texts(chance), itertools.count()
    for at in range(0, count, BATCH):
        rows = [
            row(threads[n % len(threads)], n // len(threads) + 1, next(said))
            for n in itertools.islice(position, min(BATCH, count - at))
        ]
        store(rows)
    bulk.settle()
    return bots


def new_thread(chatbot: Chatbot, number: int) -> Thread:
    """Store a thread whose visitor has a two-word name. Every hundredth thread has a tag."""
    visitor = Visitor(
        chatbot=chatbot,
        external_id=f"visitor-{number}",
        name=f"First{number % 997} Last{number}",
        email=f"last{number}@example.com",
    )
    visitor.save(force_insert=True)
    tags = [f"tag{number % 300}"] if number % 100 == 0 else []
    thread = Thread(chatbot=chatbot, visitor=visitor, tags=tags)
    thread.save(force_insert=True)
    return thread


def row(thread: Thread, position: int, content: str) -> dict[str, Any]:
    """Return the values of a message, by column name."""
    now = timezone.now()
    sqlite = connection.vendor == "sqlite"

    def key(given: UUID) -> Any:
        return given.hex if sqlite else given

    moment = now.replace(tzinfo=None).isoformat(" ") if sqlite else now
    return {
        "id": key(new_id()),
        "created_at": moment,
        "updated_at": moment,
        "position": position,
        "message_type": MessageType.USER_MESSAGE.value,
        "content": content,
        "source": "[]",
        "is_edited": False,
        "thread_id": key(thread.pk),
    }


def store(rows: list[dict[str, Any]]) -> None:
    """Insert messages in one transaction."""
    names = list(rows[0])
    sql = (
        f"INSERT INTO conversations_message ({', '.join(names)})"
        f" VALUES ({', '.join(['%s'] * len(names))})"
    )
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.executemany(sql, [tuple(each.values()) for each in rows])


def asked() -> list[str]:
    """Return the search terms: common and rare words, pairs, names, tags and unknown words."""
    words = [word(rank) for rank in (*COMMON, *RARE)]
    pairs = [f"{word(one)} {word(other)}" for one, other in itertools.pairwise((*COMMON, *RARE))]
    names = ["first7 last1004", "first7", "last12", "last1004@example.com", "tag7", "tag200"]
    return [*words, *pairs, *names, "unknown", f"{word(1)} unknown"]


def measure(size: float) -> dict[str, float]:
    """Time searches in different scopes: all bots, the largest bot, three bots, and a small bot.

    The scope `account` passes a list of the ids of all bots, as when the manager of a large account
    searches. `search_best_p95_ms` counts only the fastest round of each search, so that other load
    on the machine affects it less.
    """
    bots = [bot.pk for bot in fill(round(MESSAGES * size))]
    some = {"largest": bots[:1], "three": bots[2:5], "small": bots[9:10]}
    scopes = {"all": None, "account": bots, **some}
    figures: dict[str, float] = {}
    every: list[float] = []
    best: dict[tuple[str, str], float] = {}
    for name, scope in scopes.items():
        took = []
        for _ in range(ROUNDS):
            for text in asked():
                began = time.perf_counter()
                search.find(text, scope)
                took.append(1000 * (time.perf_counter() - began))
                best[name, text] = min(best.get((name, text), took[-1]), took[-1])
        figures[f"search_{name}_p95_ms"] = percentile(took, 0.95)
        figures[f"search_{name}_most_ms"] = max(took)
        every += took
    return figures | {
        "search_p95_ms": percentile(every, 0.95),
        "search_best_p95_ms": percentile(list(best.values()), 0.95),
    }
