"""Kill a process under test at a crash point: after a certain SQL statement or after its commit.

The process reads the crash point from TEST_CRASH_POINT. If the value is `name`, the process dies
when it first reaches that point. If the value is `name:n`, it dies when it reaches the point for
the nth time. This uses Django's execute wrappers, so the service needs no code for it.
"""

import itertools
import os
import re
import signal
from collections.abc import Callable
from typing import Any, NamedTuple

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created


class Point(NamedTuple):
    """A crash point: after a matching statement has run, or after its transaction is committed."""

    statement: str  # a regular expression that matches the SQL
    committed: bool = False


CLAIM = r'UPDATE "webhooks_delivery" SET "claim" = [^,]*, "claimed_until"'
BEGIN = r'INSERT INTO "?webhooks_attempt'
ANSWER = r'SELECT .*body_length.* FROM "?webhooks_delivery'  # begins recording a result
SETTLE = r'UPDATE "?webhooks_attempt"? SET .*finished_at'
# A statement that also stores the message begins with WITH.
RECORD = r'(WITH .*)?INSERT INTO "?webhooks_delivery'
POINTS = {
    "after-claim": Point(CLAIM, committed=True),
    "attempt-begun": Point(BEGIN, committed=True),
    "after-answer": Point(ANSWER),
    "before-settle-commit": Point(SETTLE),
    "after-settle": Point(SETTLE, committed=True),
    "event-recorded": Point(RECORD),
    "message-stored": Point(RECORD, committed=True),
    "mail-begun": Point(r'UPDATE "accounts_mail" SET .*"tries"', committed=True),
    "work-begun": Point(r'UPDATE "config_periodicwork" SET "claim" = [^N]', committed=True),
}


def install(wanted: str) -> None:
    """Make this process die at a crash point. `wanted` has the format of TEST_CRASH_POINT."""
    if not wanted:
        return
    name, _, times = wanted.partition(":")
    crash = Crash(POINTS[name], int(times or 1))
    commit, roll_back = BaseDatabaseWrapper.commit, BaseDatabaseWrapper.rollback

    def commit_and_die(connection: BaseDatabaseWrapper) -> None:
        commit(connection)
        crash.end(connection, committed=True)

    def roll_back_and_forget(connection: BaseDatabaseWrapper) -> None:
        roll_back(connection)
        crash.end(connection, committed=False)

    def see(connection: BaseDatabaseWrapper, **_: Any) -> None:
        if crash.watch not in connection.execute_wrappers:
            connection.execute_wrappers.append(crash.watch)

    connection_created.connect(see, weak=False)
    BaseDatabaseWrapper.commit = commit_and_die  # type: ignore[method-assign,assignment]
    BaseDatabaseWrapper.rollback = roll_back_and_forget  # type: ignore[method-assign,assignment]


class Crash:
    """Kills this process when it reaches `point` for the nth time."""

    def __init__(self, point: Point, nth: int) -> None:
        self.point, self.nth = point, nth
        self.matching = re.compile(point.statement, re.DOTALL)
        self.passes = itertools.count(1)
        # Connections that have run a matching statement in their current transaction
        self.passed: set[BaseDatabaseWrapper] = set()

    def watch(
        self,
        execute: Callable[..., Any],
        sql: str,
        params: Any,
        many: bool,
        context: dict[str, Any],
    ) -> Any:  # Any: as in Django
        """Act as an execute wrapper: run a statement, and die if it reaches the crash point."""
        result = execute(sql, params, many, context)
        if self.matching.match(sql.strip()):
            connection = context["connection"]
            if self.point.committed and connection.in_atomic_block:
                self.passed.add(connection)
            else:
                self.die()
        return result

    def end(self, connection: BaseDatabaseWrapper, *, committed: bool) -> None:
        """Handle the end of a transaction. The crash point is reached only if it was committed."""
        if connection in self.passed:
            self.passed.discard(connection)
            if committed:
                self.die()

    def die(self) -> None:
        if next(self.passes) == self.nth:
            os.kill(os.getpid(), signal.SIGKILL)
