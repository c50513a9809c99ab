"""Whose turn it is, when more waits than can be sent at once. Pure: it reads and writes nothing.

No attempt is ever skipped: the schedule is the contract. What protects healthy receivers from
dead ones is that nobody gets more than a share.
"""

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from uuid import UUID

PER_ENDPOINT = 8
REMEMBERED = 10_000  # accounts and endpoints; of more, those for whom nothing waits are forgotten
BY_HAND = 4  # of an endpoint, among those: retries that somebody asked for, of which many may wait
UNPROVEN = 1  # of an endpoint that has not answered lately: it may have become a black hole
LATELY = 10.0  # seconds


@dataclass(frozen=True, slots=True)
class Waiting:
    """An endpoint (by its chatbot) that has something due."""

    chatbot_id: UUID
    account_id: UUID
    slow: bool  # its last attempt timed out
    # what waits: first attempts, retries, those asked for by hand
    first: bool = True
    again: bool = True
    by_hand: bool = True


@dataclass(frozen=True, slots=True)
class Running:
    """A claimed delivery, of any worker."""

    chatbot_id: UUID
    account_id: UUID
    thread_id: UUID | None
    mine: bool  # on a slot of the worker that asks
    slow: bool
    by_hand: bool = False
    suspect: bool = False


@dataclass(frozen=True, slots=True)
class Candidate:
    """A due delivery.

    A first attempt, and one asked for by hand, waits while another one of its thread is under way.
    """

    delivery_id: UUID
    thread_id: UUID | None
    first: bool
    by_hand: bool = False


More = Callable[[Waiting, int], Iterable[Candidate]]
Rank = tuple[int, int, int, int]


class _Hall:
    """The slots as they fill up.

    What begins together times out together, and at its end keeps everybody waiting; so whatever
    may hang begins a few at a time.
    """

    def __init__(
        self, running: Iterable[Running], *, slots: int, proven: Callable[[UUID], bool]
    ) -> None:
        self.slots, self.free, self.proven = slots, slots, proven
        self.of_account: Counter[UUID] = Counter()
        self.of_endpoint: Counter[UUID] = Counter()
        self.by_hand: Counter[UUID] = Counter()
        self.threads: set[UUID | None] = set()
        self.slow = self.unproven = 0
        self.seems_slow: set[UUID] = set()
        self.lines: dict[UUID, list[Candidate]] = {}
        for one in running:
            self.of_account[one.account_id] += 1
            self.of_endpoint[one.chatbot_id] += 1
            self.by_hand[one.chatbot_id] += one.by_hand
            self.threads.add(one.thread_id)
            if one.slow:
                self.seems_slow.add(one.chatbot_id)
            if one.mine:
                self.free -= 1
                self.slow += one.slow
                self.unproven += not one.slow and not proven(one.chatbot_id)
        self.may_risk = True
        # one may always begin: nobody who waits is shut out by those who are just being tried
        self.may_try = max(1, slots // 8 - self.unproven)

    def spread(self, timeout: float, *, since: float) -> None:
        """Let none begin that may time out unless the last one began long enough ago.

        The fuller the lane, the slower it fills: full, it is left and entered evenly over the
        timeout. While those in it answer, it is nearly empty, and nobody waits.
        """
        lane = max(1, self.slots // 2)
        self.may_risk = since >= timeout / lane * (self.slow / lane) ** 2

    def next_of(self, waiting: Waiting, more: More) -> Candidate | None:
        """Find an endpoint's next delivery that may start."""
        left = self.left(waiting)
        if left <= 0:
            return None
        if waiting.chatbot_id not in self.lines:
            self.lines[waiting.chatbot_id] = [*more(waiting, left)][::-1]
        line = self.lines[waiting.chatbot_id]
        while line:
            candidate = line.pop()
            if self.admits(waiting, candidate):
                return candidate
        return None

    def left(self, waiting: Waiting) -> int:
        """How many more the endpoint may have; once nothing, nothing for the whole round."""
        has = self.of_endpoint[waiting.chatbot_id]
        if self.is_slow(waiting):
            lane = max(1, self.slots // 2) - self.slow if self.may_risk else 0
            return min(lane, self.free, 1, PER_ENDPOINT - has)
        if not self.proven(waiting.chatbot_id):
            lane = max(1, self.slots * 3 // 4) - self.slow - self.unproven
            return min(lane, self.free, self.may_try, UNPROVEN - has)
        # the last quarter is for those who have nothing under way: what answers may cease to
        return min(self.free - (self.slots // 4 if has else 0), PER_ENDPOINT - has)

    def seat(self, waiting: Waiting, candidate: Candidate) -> None:
        self.free -= 1
        self.of_account[waiting.account_id] += 1
        self.of_endpoint[waiting.chatbot_id] += 1
        self.by_hand[waiting.chatbot_id] += candidate.by_hand
        self.threads.add(candidate.thread_id)
        if self.is_slow(waiting):
            self.slow += 1
            self.may_risk = False
        elif not self.proven(waiting.chatbot_id):
            self.unproven += 1
            self.may_try -= 1

    def is_slow(self, waiting: Waiting) -> bool:
        return waiting.slow or waiting.chatbot_id in self.seems_slow

    def admits(self, waiting: Waiting, candidate: Candidate) -> bool:
        if candidate.by_hand and self.by_hand[waiting.chatbot_id] >= BY_HAND:
            return False
        in_order = candidate.first or candidate.by_hand
        return not (in_order and candidate.thread_id and candidate.thread_id in self.threads)


class Turns:
    """Remembers who was served last, so that equals take turns."""

    def __init__(self) -> None:
        self._served: Counter[UUID] = Counter()
        self._count = itertools.count(1)
        self._answered: dict[UUID, float] = {}
        self._risked = -math.inf

    def note_answer(self, chatbot_id: UUID, moment: float) -> None:
        """Remember that an endpoint answered an attempt, whatever it said."""
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
        """Choose the deliveries that start now, at a `moment` of a steady clock in seconds.

        The account with the fewest under way comes first, and in it the endpoint with the fewest;
        `more(endpoint, count)` gives an endpoint's due deliveries in their order, and is asked for
        those alone whose turn comes. `timeout`: how long an attempt may last, in seconds.
        """
        self._forget(waiting)
        hall = _Hall(running, slots=slots, proven=lambda one: self._is_proven(one, moment))
        hall.spread(timeout, since=moment - self._risked)
        slow = hall.slow
        chosen: list[UUID] = []
        heap = [(self._rank(one, hall), number, one) for number, one in enumerate(waiting)]
        heapify(heap)
        while heap and hall.free > 0:
            rank, number, one = heappop(heap)
            if (now := self._rank(one, hall)) != rank:  # others were seated since it queued up
                heappush(heap, (now, number, one))
                continue
            candidate = hall.next_of(one, more)
            if candidate is None:
                continue
            hall.seat(one, candidate)
            chosen.append(candidate.delivery_id)
            self._served[one.account_id] = self._served[one.chatbot_id] = next(self._count)
            heappush(heap, (self._rank(one, hall), number, one))
        if hall.slow > slow:
            self._risked = moment
        return chosen

    def _is_proven(self, chatbot_id: UUID, moment: float) -> bool:
        return moment - self._answered.get(chatbot_id, -math.inf) < LATELY

    def _forget(self, waiting: list[Waiting]) -> None:
        # Whoever is forgotten counts as served long ago, so never one who waits: those would
        # pass before others who wait, again and again.
        if len(self._served) > REMEMBERED:
            there = {one for each in waiting for one in (each.account_id, each.chatbot_id)}
            self._served = Counter({one: self._served[one] for one in there & set(self._served)})
        if len(self._answered) > REMEMBERED:
            self._answered.clear()

    def _rank(self, one: Waiting, hall: _Hall) -> Rank:
        return (
            hall.of_account[one.account_id],
            self._served[one.account_id],
            hall.of_endpoint[one.chatbot_id],
            self._served[one.chatbot_id],
        )
