"""Run one soak: send messages, cause faults, and wait until all work has ended.

The result is a record of the run, called a Story, which tests.tools.soak.judge checks.
"""

import contextlib
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import psycopg
from tqdm import tqdm

from tests.tools.soak import faults, ledger
from tests.tools.soak.faults import Fault, Faults, Lane, lanes_of
from tests.tools.soak.ground import Ground
from tests.tools.soak.ledger import Attempt, Delivery
from tests.tools.soak.listener import Heard, Listener
from tests.tools.soak.load import Load

ENDPOINTS = 8
LOOK = 0.1  # seconds between two checks for unfinished work in the database
BEHIND = 2  # number of overdue faults above which messages are sent more slowly


@dataclass
class Story:
    """Everything that a soak observed. `failed` contains the ids of manually retried deliveries."""

    deliveries: list[Delivery]
    attempts: list[Attempt]
    heard: list[Heard]
    faults: list[Fault]
    committed: set[str]
    answers: Counter[str]
    failed: set[str]
    without_event: int
    left_success: list[str]
    left_to_do: int
    ended_alone: list[tuple[str, int | None]]
    workers: int
    errors: list[str]
    seconds: float = 0.0


@dataclass
class Soak:
    """A soak in progress."""

    ground: Ground
    drawn: Sequence[Fault]
    events: int
    seed: int
    deadline: float
    quiet: bool = False
    ended_alone: list[tuple[str, int | None]] = field(default_factory=list)

    def wait(self, fact: Callable[[], Any], what: str) -> None:
        """Wait until a function returns a true value, or raise NotInTime at the deadline."""
        self.ground.wait(fact, what, deadline=self.deadline)

    def tell(self) -> Story:
        began = time.monotonic()
        with ExitStack() as stack:
            listener = stack.enter_context(Listener(ENDPOINTS))
            furniture = self.ground.furnish(listener.urls)
            for process in self.ground.processes:
                process.start()
            self.wait(self.ground.web.answers, "the web server")
            made = Faults(self.ground, listener)
            stack.enter_context(self.tended(made))
            load, lanes = self.strain(furniture, made)
            listener.cheer_up()
            self.wait(self.nothing_is_left, "deliveries to settle")
            failed = {one.id for one in self.ground.ledger.deliveries() if one.state == "FAILED"}
            if failed:
                self.ground.run("manage.py", "retry_deliveries", "--json")
                self.wait(self.nothing_is_left, "manual retries to settle")
        story = self.read(listener, load, failed)
        story.errors += self.ground.gaps()
        story.errors += [lane.error for lane in lanes if lane.error]
        story.seconds = time.monotonic() - began
        return story

    def strain(self, furniture: dict[str, object], made: Faults) -> tuple[Load, list[Lane]]:
        """Send messages and cause faults until there are enough events and all faults are over."""
        lanes: list[Lane] = []
        load = Load(
            self.ground.web.address,
            **furniture,  # type: ignore[arg-type]
            seed=self.seed,
            late=lambda: sum(lane.late for lane in lanes) > BEHIND,
        )
        with load, tqdm(total=self.events, unit="events", disable=self.quiet) as bar:
            lanes += lanes_of(self.drawn, made.make, now=lambda: len(load.committed))
            for lane in lanes:
                lane.start()

            def enough() -> bool:
                bar.update(min(len(load.committed), self.events) - bar.n)
                bar.set_postfix_str(f"{sum(lane.done for lane in lanes)} faults", refresh=False)
                idle = not any(lane.is_alive() for lane in lanes)
                return idle and len(load.committed) >= self.events

            self.wait(enough, "events and faults")
        return load, lanes

    @contextlib.contextmanager
    def tended(self, made: Faults) -> Iterator[None]:
        """Restart processes that exit, as a supervisor does, and stop all processes at the end."""
        over = threading.Event()

        def tend() -> None:
            while not over.wait(0.5):
                for process, lock in made.locks.items():
                    if lock.acquire(blocking=False):
                        try:
                            if process.running and process.running.poll() is not None:
                                code = process.running.returncode
                                self.ended_alone.append((process.log.stem, code))
                                process.start()
                        finally:
                            lock.release()

        tender = threading.Thread(target=tend)
        tender.start()
        try:
            yield
        finally:
            over.set()
            tender.join()
        for worker in self.ground.workers:
            faults.stop(worker)
        self.ground.web.kill()

    def nothing_is_left(self) -> bool:
        time.sleep(LOOK)
        with contextlib.suppress(psycopg.OperationalError):
            return self.ground.ledger.number(ledger.LEFT_TO_DO) == 0
        return False

    def read(self, listener: Listener, load: Load, failed: set[str]) -> Story:
        book = self.ground.ledger
        return Story(
            deliveries=book.deliveries(),
            attempts=book.attempts(),
            heard=list(listener.heard),
            faults=list(self.drawn),
            committed=load.committed,
            answers=load.answers,
            failed=failed,
            without_event=book.number(ledger.WITHOUT_EVENT),
            left_success=[str(pk) for pk, _ in book.rows("SELECT * FROM soak_regression")],
            left_to_do=book.number(ledger.LEFT_TO_DO),
            ended_alone=self.ended_alone,
            workers=len(self.ground.workers),
            errors=[],
        )


def run(
    ground: Ground,
    kinds: Sequence[str],
    *,
    events: int,
    seed: int,
    ceiling: float,
    quiet: bool = False,
) -> Story:
    """Run a soak with at least `events` events and one fault for each item of `kinds`.

    Raise NotInTime if the soak does not end within `ceiling` seconds.
    """
    drawn = faults.draw(ground, kinds, events=events, seed=seed)
    return Soak(ground, drawn, events, seed, time.monotonic() + ceiling, quiet).tell()
