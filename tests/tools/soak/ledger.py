"""Read deliveries and attempts from the database with plain SQL."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg

LEFT_TO_DO = """SELECT count(*) FROM webhooks_delivery
WHERE due_at IS NOT NULL OR claim IS NOT NULL OR state IN ('PENDING', 'RETRYING')"""
DELIVERIES = """SELECT d.id, d.thread_id, d.message_id, m.position, d.body, d.state,
    d.attempts_count, d.interruptions
FROM webhooks_delivery d LEFT JOIN conversations_message m ON m.id = d.message_id"""
ATTEMPTS = """SELECT delivery_id, number, status, interrupted, "by", response_code, reason,
    started_at, finished_at
FROM webhooks_attempt ORDER BY started_at, id"""
WITHOUT_EVENT = """SELECT count(*) FROM conversations_message m
WHERE NOT EXISTS (SELECT 1 FROM webhooks_delivery d WHERE d.message_id = m.id)"""


@dataclass(frozen=True, slots=True)
class Delivery:
    """A row of webhooks_delivery. `position` is the message's position in its thread."""

    id: str
    thread: str
    message: str
    position: int
    body: bytes
    state: str
    attempts_count: int
    interruptions: int


@dataclass(frozen=True, slots=True)
class Attempt:
    """A row of webhooks_attempt. Times are seconds since 1970."""

    delivery: str
    number: int
    status: str
    interrupted: bool
    by: str
    code: int | None
    error: str
    started: float
    finished: float | None


class Ledger:
    """Queries the database. Because the server may crash, each query opens a new connection."""

    def __init__(self, connect: Callable[[], Any]) -> None:  # Any: either driver's connection
        self.connect = connect

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        with closing(self.connect()) as connection:
            return list(connection.execute(sql).fetchall())

    def number(self, sql: str) -> int:
        [[number]] = self.rows(sql)
        return int(number)

    def deliveries(self) -> list[Delivery]:
        return [
            Delivery(key(pk), key(thread), key(message), place, bytes(body), *rest)
            for pk, thread, message, place, body, *rest in self.rows(DELIVERIES)
        ]

    def attempts(self) -> list[Attempt]:
        return [
            Attempt(
                key(delivery),
                number,
                status,
                bool(cut),
                by,
                code,
                reason,
                seconds(began),
                seconds(ended) if ended else None,
            )
            for delivery, number, status, cut, by, code, reason, began, ended in self.rows(ATTEMPTS)
        ]


def of_file(path: Path) -> Ledger:
    return Ledger(lambda: sqlite3.connect(path, timeout=20))


def of_server(url: str) -> Ledger:
    return Ledger(lambda: psycopg.connect(url, autocommit=True))


def key(value: Any) -> str:  # Any: a UUID from PostgreSQL or a string from SQLite
    return str(UUID(str(value)))


def seconds(value: Any) -> float:  # Any: a datetime from PostgreSQL or a string from SQLite
    if isinstance(value, str):
        value = datetime.fromisoformat(value).replace(tzinfo=UTC)
    return float(value.timestamp())
