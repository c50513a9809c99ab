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
PER_STRANGER = 1  # of an endpoint that was never tried: it may be a black hole


@dataclass(frozen=True, slots=True)
class Waiting:
    """An endpoint (by its chatbot) that has something due."""

    chatbot_id: UUID
    account_id: UUID
    slow: bool  # its last attempt timed out
    stranger: bool  # none has ended yet
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
    stranger: bool
    by_hand: bool = False
    suspect: bool = False


@dataclass(frozen=True, slots=True)
class Candidate:
    """A due delivery. A first attempt waits while another one of its thread is under way."""

    delivery_id: UUID
    thread_id: UUID | None
    first: bool
    by_hand: bool = False


More = Callable[[Waiting, int], Iterable[Candidate]]
Rank = tuple[int, int, int, int]


class _Hall:
    """The slots as they fill up."""

    def __init__(self, running: Iterable[Running], *, slots: int) -> None:
        self.slots, self.free = slots, slots
        self.of_account: Counter[UUID] = Counter()
        self.of_endpoint: Counter[UUID] = Counter()
        self.by_hand: Counter[UUID] = Counter()
        self.threads: set[UUID | None] = set()
        self.slow = self.strangers = 0
        self.may_risk = True
        self.seems_slow: set[UUID] = set()
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
                self.strangers += one.stranger

    def spread(self, timeout: float, *, since: float) -> None:
        """Let none begin that may time out unless the last one began long enough ago.

        What begins together times out together, and at its end keeps everybody waiting. The fuller
        the lane, the slower it fills: full, it is left and entered evenly over the timeout. While
        those in it answer, it is nearly empty, and nobody waits.
        """
        lane = max(1, self.slots // 2)
        self.may_risk = since >= timeout * (self.slow + self.strangers) / lane**2

    def left(self, waiting: Waiting) -> int:
        """How many more the endpoint may have; once nothing, nothing for the whole round."""
        slow = waiting.slow or waiting.chatbot_id in self.seems_slow
        lane = self.free
        if slow:
            lane = max(1, self.slots // 2) - self.slow
        elif waiting.stranger:
            lane = max(1, self.slots * 3 // 4) - self.slow - self.strangers
        if slow or waiting.stranger:
            lane = min(lane, 1 if self.may_risk else 0)  # one in a round
        most = PER_STRANGER if waiting.stranger else PER_ENDPOINT
        return min(lane, self.free, most - self.of_endpoint[waiting.chatbot_id])

    def seat(self, waiting: Waiting, candidate: Candidate) -> None:
        self.free -= 1
        self.of_account[waiting.account_id] += 1
        self.of_endpoint[waiting.chatbot_id] += 1
        self.by_hand[waiting.chatbot_id] += candidate.by_hand
        self.threads.add(candidate.thread_id)
        if waiting.slow or waiting.chatbot_id in self.seems_slow:
            self.slow += 1
        elif waiting.stranger:
            self.strangers += 1
        else:
            return
        self.may_risk = False

    def admits(self, waiting: Waiting, candidate: Candidate) -> bool:
        if candidate.by_hand and self.by_hand[waiting.chatbot_id] >= BY_HAND:
            return False
        return not (candidate.first and candidate.thread_id and candidate.thread_id in self.threads)


class Turns:
    """Remembers who was served last, so that equals take turns."""

    def __init__(self) -> None:
        self._served: Counter[UUID] = Counter()
        self._count = itertools.count(1)
        self._risked = -math.inf

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
        hall = _Hall(running, slots=slots)
        hall.spread(timeout, since=moment - self._risked)
        may_risk = hall.may_risk
        lines: dict[UUID, list[Candidate]] = {}
        chosen: list[UUID] = []
        heap = [(self._rank(one, hall), number, one) for number, one in enumerate(waiting)]
        heapify(heap)
        while heap and hall.free > 0:
            rank, number, one = heappop(heap)
            if (now := self._rank(one, hall)) != rank:  # others were seated since it queued up
                heappush(heap, (now, number, one))
                continue
            left = hall.left(one)
            if left <= 0:
                continue
            if one.chatbot_id not in lines:
                lines[one.chatbot_id] = [*more(one, left)][::-1]
            candidate = _next(lines[one.chatbot_id], one, hall)
            if candidate is None:
                continue
            hall.seat(one, candidate)
            chosen.append(candidate.delivery_id)
            self._served[one.account_id] = self._served[one.chatbot_id] = next(self._count)
            heappush(heap, (self._rank(one, hall), number, one))
        if hall.may_risk < may_risk:
            self._risked = moment
        return chosen

    def _forget(self, waiting: list[Waiting]) -> None:
        # Whoever is forgotten counts as served long ago, so never one who waits: those would
        # pass before others who wait, again and again.
        if len(self._served) > REMEMBERED:
            there = {one for each in waiting for one in (each.account_id, each.chatbot_id)}
            self._served = Counter({one: self._served[one] for one in there & set(self._served)})

    def _rank(self, one: Waiting, hall: _Hall) -> Rank:
        return (
            hall.of_account[one.account_id],
            self._served[one.account_id],
            hall.of_endpoint[one.chatbot_id],
            self._served[one.chatbot_id],
        )


def _next(line: list[Candidate], waiting: Waiting, hall: _Hall) -> Candidate | None:
    while line:
        candidate = line.pop()
        if hall.admits(waiting, candidate):
            return candidate
    return None
