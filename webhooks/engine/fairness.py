"""Choose which deliveries start when more are due than there are free slots.

Pure logic: no database and no clock. An attempt is never skipped, because the schedule is the
contract; caps keep slots free for healthy endpoints instead:

1. An endpoint has at most 8 attempts in flight, at most 4 of them manual retries. The last quarter
   of the slots is kept for endpoints that have nothing in flight (OpenLane).
2. Endpoints whose last attempt timed out share half of the slots, one start at a time (SlowLane).
3. Endpoints that have not answered lately have one attempt each. Together with the slow ones they
   use at most three quarters of the slots (TrialLane).
4. Within these caps accounts take turns, and so do the endpoints of an account (Rotation).
"""

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import Protocol
from uuid import UUID

PER_ENDPOINT = 8
MANUAL_PER_ENDPOINT = 4  # of those 8: many may wait, and no visitor waits for them
ON_TRIAL_PER_ENDPOINT = 1  # the endpoint may have stopped answering
LATELY = 10.0  # seconds
REMEMBERED = 10_000  # accounts and endpoints whose place in the rotation is kept


@dataclass(frozen=True, slots=True)
class Waiting:
    """An endpoint (by its chatbot) with due deliveries, and which kinds of them are due."""

    chatbot_id: UUID
    account_id: UUID
    slow: bool  # its last attempt timed out
    first: bool = True
    again: bool = True
    manual: bool = True


@dataclass(frozen=True, slots=True)
class Running:
    """A claimed delivery of any worker."""

    chatbot_id: UUID
    account_id: UUID
    thread_id: UUID | None
    mine: bool  # on a slot of the claiming worker
    slow: bool
    manual: bool = False
    suspect: bool = False


@dataclass(frozen=True, slots=True)
class Candidate:
    """A due delivery.

    A first attempt and a manual retry wait while another delivery of their thread is in flight.
    """

    delivery_id: UUID
    thread_id: UUID | None
    first: bool
    manual: bool = False


More = Callable[[Waiting, int], Iterable[Candidate]]
Rank = tuple[int, int, int, int]


class Lane(Protocol):
    """A cap on how many attempts of one kind of endpoint are in flight."""

    def room(self, in_flight: int, free: int) -> int:
        """Return how many more attempts an endpoint may start.

        `in_flight` counts the endpoint's own attempts, `free` the worker's free slots. Once it is
        0 for an endpoint, it stays 0 for the rest of the round.
        """

    def enter(self) -> None:
        """Count an attempt that starts."""


class OpenLane:
    """Endpoints that have answered lately."""

    def __init__(self, slots: int) -> None:
        self.kept_free = slots // 4

    def room(self, in_flight: int, free: int) -> int:
        """Keep the last slots for idle endpoints: one that answers now may stop answering."""
        usable = free - self.kept_free if in_flight else free
        return min(usable, PER_ENDPOINT - in_flight)

    def enter(self) -> None:
        """Count nothing: the free slots are the only bound."""


class SlowLane:
    """Endpoints whose last attempt timed out.

    Attempts that start together time out together and free their slots together. The fuller the
    lane, the longer the pause between two starts: a full lane is entered and left evenly over one
    timeout, and a nearly empty one, whose endpoints answer again, makes no endpoint wait.
    """

    def __init__(self, slots: int, occupied: int, *, timeout: float, since_start: float) -> None:
        self.size = max(1, slots // 2)
        self.occupied = occupied
        self.started = False
        self.may_start = since_start >= timeout / self.size * (occupied / self.size) ** 2

    def room(self, in_flight: int, free: int) -> int:
        """Let one attempt start per round, after the pause."""
        left = self.size - self.occupied if self.may_start else 0
        return min(left, free, 1, PER_ENDPOINT - in_flight)

    def enter(self) -> None:
        """Count an attempt and close the lane for the rest of the round."""
        self.occupied += 1
        self.started, self.may_start = True, False


class TrialLane:
    """Endpoints that have not answered this worker lately."""

    def __init__(self, slots: int, occupied: int, slow: SlowLane) -> None:
        self.size = max(1, slots * 3 // 4)
        self.occupied = occupied
        self.slow = slow
        # At least one always starts: endpoints on trial must not shut out one that waits.
        self.starts_left = max(1, slots // 8 - occupied)

    def room(self, in_flight: int, free: int) -> int:
        """Share the lane's slots with the slow lane, and start a few at a time."""
        left = self.size - self.slow.occupied - self.occupied
        return min(left, free, self.starts_left, ON_TRIAL_PER_ENDPOINT - in_flight)

    def enter(self) -> None:
        """Count an attempt."""
        self.occupied += 1
        self.starts_left -= 1


class InFlight:
    """Counts the deliveries in flight, by account, endpoint and thread."""

    def __init__(self) -> None:
        self.of_account: Counter[UUID] = Counter()
        self.of_endpoint: Counter[UUID] = Counter()
        self.manual: Counter[UUID] = Counter()
        self.threads: set[UUID | None] = set()

    def add(self, account: UUID, chatbot: UUID, thread: UUID | None, *, manual: bool) -> None:
        """Count one delivery."""
        self.of_account[account] += 1
        self.of_endpoint[chatbot] += 1
        self.manual[chatbot] += manual
        self.threads.add(thread)

    def allows(self, waiting: Waiting, candidate: Candidate) -> bool:
        """Return whether a delivery may start beside those in flight."""
        if candidate.manual and self.manual[waiting.chatbot_id] >= MANUAL_PER_ENDPOINT:
            return False
        in_order = candidate.first or candidate.manual
        return not (in_order and candidate.thread_id and candidate.thread_id in self.threads)


class _Round:
    """One claim: the slots of a worker as they fill up."""

    def __init__(
        self,
        running: Iterable[Running],
        *,
        slots: int,
        proven: Callable[[UUID], bool],
        timeout: float,
        since_slow_start: float,
    ) -> None:
        self.proven = proven
        self.in_flight = InFlight()
        self.slow_endpoints: set[UUID] = set()
        self.lines: dict[UUID, list[Candidate]] = {}
        mine: list[Running] = []
        for one in running:
            self.in_flight.add(one.account_id, one.chatbot_id, one.thread_id, manual=one.manual)
            if one.slow:
                self.slow_endpoints.add(one.chatbot_id)
            if one.mine:
                mine.append(one)
        self.free = slots - len(mine)
        slow = sum(one.slow for one in mine)
        on_trial = sum(not one.slow and not proven(one.chatbot_id) for one in mine)
        self.open = OpenLane(slots)
        self.slow = SlowLane(slots, slow, timeout=timeout, since_start=since_slow_start)
        self.trial = TrialLane(slots, on_trial, self.slow)

    def lane_of(self, waiting: Waiting) -> Lane:
        """Return the lane of an endpoint."""
        if waiting.slow or waiting.chatbot_id in self.slow_endpoints:
            return self.slow
        return self.open if self.proven(waiting.chatbot_id) else self.trial

    def next_of(self, waiting: Waiting, more: More) -> Candidate | None:
        """Return the next delivery of an endpoint that may start."""
        in_flight = self.in_flight.of_endpoint[waiting.chatbot_id]
        room = self.lane_of(waiting).room(in_flight, self.free)
        if room <= 0:
            return None
        if waiting.chatbot_id not in self.lines:
            self.lines[waiting.chatbot_id] = [*more(waiting, room)][::-1]
        line = self.lines[waiting.chatbot_id]
        while line:
            candidate = line.pop()
            if self.in_flight.allows(waiting, candidate):
                return candidate
        return None

    def start(self, waiting: Waiting, candidate: Candidate) -> None:
        """Count a delivery that starts."""
        self.lane_of(waiting).enter()
        self.free -= 1
        self.in_flight.add(
            waiting.account_id, waiting.chatbot_id, candidate.thread_id, manual=candidate.manual
        )


class Rotation:
    """Remembers which account and endpoint was served last, so that equals take turns."""

    def __init__(self) -> None:
        self._served: Counter[UUID] = Counter()
        self._count = itertools.count(1)
        self._answered: dict[UUID, float] = {}
        self._slow_started = -math.inf

    def note_answer(self, chatbot_id: UUID, moment: float) -> None:
        """Remember that an endpoint answered an attempt, with whatever status."""
        self._answered[chatbot_id] = moment

    def choose(
        self,
        waiting: list[Waiting],
        running: Iterable[Running],
        *,
        slots: int,
        more: More,
        moment: float,
        timeout: float,
    ) -> list[UUID]:
        """Return the ids of the deliveries that start now.

        The account with the fewest attempts in flight comes first, and within it the endpoint with
        the fewest. `more(endpoint, count)` returns an endpoint's due deliveries in order; it is
        called only for endpoints that are chosen. `moment` is the time of a monotonic clock and
        `timeout` the longest that an attempt may last, both in seconds.
        """
        self._forget(waiting)
        round_ = _Round(
            running,
            slots=slots,
            proven=lambda chatbot: self._is_proven(chatbot, moment),
            timeout=timeout,
            since_slow_start=moment - self._slow_started,
        )
        chosen = self._fill(round_, waiting, more)
        if round_.slow.started:
            self._slow_started = moment
        return chosen

    def _fill(self, round_: _Round, waiting: list[Waiting], more: More) -> list[UUID]:
        """Start deliveries, those of the best-ranked endpoint first, until no other may start."""
        chosen: list[UUID] = []
        heap = [(self._rank(one, round_), number, one) for number, one in enumerate(waiting)]
        heapify(heap)
        while heap and round_.free > 0:
            rank, number, one = heappop(heap)
            if (now := self._rank(one, round_)) != rank:  # others have started since it was queued
                heappush(heap, (now, number, one))
                continue
            candidate = round_.next_of(one, more)
            if candidate is None:
                continue
            round_.start(one, candidate)
            chosen.append(candidate.delivery_id)
            self._served[one.account_id] = self._served[one.chatbot_id] = next(self._count)
            heappush(heap, (self._rank(one, round_), number, one))
        return chosen

    def _is_proven(self, chatbot_id: UUID, moment: float) -> bool:
        return moment - self._answered.get(chatbot_id, -math.inf) < LATELY

    def _forget(self, waiting: list[Waiting]) -> None:
        # Never forget a waiting endpoint: it would count as served long ago and jump the queue.
        if len(self._served) > REMEMBERED:
            there = {one for each in waiting for one in (each.account_id, each.chatbot_id)}
            self._served = Counter({one: self._served[one] for one in there & set(self._served)})
        if len(self._answered) > REMEMBERED:
            self._answered.clear()

    def _rank(self, one: Waiting, round_: _Round) -> Rank:
        return (
            round_.in_flight.of_account[one.account_id],
            self._served[one.account_id],
            round_.in_flight.of_endpoint[one.chatbot_id],
            self._served[one.chatbot_id],
        )
