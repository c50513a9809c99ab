"""Choose which deliveries start when more are due than there are free slots.

The workers have one slot for each attempt that they can make at the same time. This module uses
neither the database nor a clock. It never skips an attempt, because the schedule is part of the
contract with receivers. Instead, three rules keep slots free for healthy endpoints:

1. Each endpoint has a limit on its attempts in flight (see `health`).
2. An endpoint is slow if it has been deleted, has never been tried, or timed out on its last
   attempt. All slow endpoints together get at most half of the slots, but at least one. No
   endpoint, slow or not, gets another slot while it holds more slots than are free.
3. The account with the fewest attempts in flight goes first. Within that account, the endpoint with
   the fewest attempts in flight goes first.
"""

import itertools
from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from uuid import UUID

# Maximum number of claims whose attempts have not begun. More would only wait in the broker.
UNSTARTED = 256


@dataclass(frozen=True, slots=True)
class Candidate:
    """A due delivery.

    `in_order` marks a first attempt or a manual retry, which waits while another delivery of its
    thread is in flight. `suspect` marks a delivery that may be crashing workers; only one such
    delivery is attempted at a time.
    """

    delivery_id: UUID
    thread_id: UUID | None
    in_order: bool
    suspect: bool = False


@dataclass(slots=True)
class Waiting:
    """An endpoint and its due deliveries, in the order in which they should start.

    The endpoint is identified by its chatbot.
    """

    chatbot_id: UUID
    account_id: UUID
    limit: int
    slow: bool  # its last attempt timed out, it has never been tried, or it has been deleted
    in_flight: int = 0
    due: deque[Candidate] = field(default_factory=deque)


@dataclass(frozen=True, slots=True)
class Running:
    """The claimed deliveries of one endpoint. The attempts of some of them have not begun."""

    chatbot_id: UUID
    account_id: UUID
    count: int
    slow: bool
    suspects: int = 0
    unstarted: int = 0


class Slots:
    """The slots of all workers, as they fill up during a claim.

    At most UNSTARTED claims may wait for their attempts to begin.
    """

    def __init__(self, running: Iterable[Running], *, slots: int) -> None:
        running = list(running)
        self.free = slots - sum(one.count for one in running)
        self.unstarted_free = UNSTARTED - sum(one.unstarted for one in running)
        self.slow_free = max(1, slots // 2) - sum(one.count for one in running if one.slow)
        self.suspects = sum(one.suspects for one in running)
        self.of_endpoint = Counter({one.chatbot_id: one.count for one in running})
        self.of_account: Counter[UUID] = Counter()
        for one in running:
            self.of_account[one.account_id] += one.count

    def admit(self, one: Waiting) -> bool:
        """Return whether another attempt to an endpoint may start."""
        return (
            one.in_flight < one.limit
            and self.free > 0
            and self.unstarted_free > 0
            and self.of_endpoint[one.chatbot_id] <= self.free
            and (self.slow_free > 0 or not one.slow)
        )

    def start(self, one: Waiting, candidate: Candidate) -> None:
        """Take a slot for an attempt that is about to start."""
        one.in_flight += 1
        self.free -= 1
        self.unstarted_free -= 1
        self.slow_free -= one.slow
        self.suspects += candidate.suspect
        self.of_endpoint[one.chatbot_id] += 1
        self.of_account[one.account_id] += 1


class Rotation:
    """Remembers the order in which accounts and endpoints were last served, to break ties."""

    def __init__(self) -> None:
        self._served: Counter[UUID] = Counter()
        self._count = itertools.count(1)

    def choose(self, waiting: list[Waiting], slots: Slots) -> list[tuple[Waiting, Candidate]]:
        """Return the deliveries to start now.

        The account with the fewest attempts in flight comes first. Within that account, the
        endpoint with the fewest attempts in flight comes first. In a tie, the one served least
        recently comes first.
        """

        def rank(one: Waiting) -> tuple[int, int, int, int]:
            return (
                slots.of_account[one.account_id],
                self._served[one.account_id],
                slots.of_endpoint[one.chatbot_id],
                self._served[one.chatbot_id],
            )

        chosen: list[tuple[Waiting, Candidate]] = []
        threads: set[UUID] = set()
        heap = [(rank(one), number, one) for number, one in enumerate(waiting)]
        heapify(heap)
        while heap and slots.free > 0:
            ranked, number, one = heappop(heap)
            if (now := rank(one)) != ranked:  # other deliveries have started since
                heappush(heap, (now, number, one))
                continue
            if not slots.admit(one) or not (candidate := _next(one, threads, slots)):
                continue
            slots.start(one, candidate)
            chosen.append((one, candidate))
            self._served[one.account_id] = self._served[one.chatbot_id] = next(self._count)
            heappush(heap, (rank(one), number, one))
        return chosen


def _next(one: Waiting, threads: set[UUID], slots: Slots) -> Candidate | None:
    """Remove and return the endpoint's next delivery that may start, or return None.

    Also removes the deliveries before it, which are not allowed to start.
    """
    while one.due:
        candidate = one.due.popleft()
        if candidate.suspect and slots.suspects:
            continue
        if candidate.thread_id:
            if candidate.in_order and candidate.thread_id in threads:
                continue
            threads.add(candidate.thread_id)
        return candidate
    return None
