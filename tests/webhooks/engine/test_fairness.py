"""Limits, shares and the rotation decide which deliveries start. No database is needed here."""

from collections import Counter, deque
from collections.abc import Iterable
from uuid import UUID, uuid4

import pytest

from webhooks.engine.fairness import UNSTARTED, Candidate, Rotation, Running, Slots, Waiting

pytestmark = pytest.mark.proves("Delivery rules")


def waiting(
    *,
    account: UUID | None = None,
    limit: int = 64,
    slow: bool = False,
    in_flight: int = 0,
    due: int = 100,
    thread: UUID | None = None,
) -> Waiting:
    """Build an endpoint with `due` deliveries, in the given account or in a new one."""
    candidates = deque(Candidate(uuid4(), thread, in_order=True) for _ in range(due))
    return Waiting(uuid4(), account or uuid4(), limit, slow, in_flight, candidates)


def running(one: Waiting, count: int, *, suspects: int = 0) -> Running:
    """Build a record of the attempts in flight to an endpoint."""
    return Running(one.chatbot_id, one.account_id, count, one.slow, suspects)


def started(
    endpoints: Iterable[Waiting],
    *,
    slots: int = 64,
    beside: Iterable[Running] = (),
    rotation: Rotation | None = None,
) -> list[int]:
    """Choose deliveries once, and return how many start for each endpoint, in the given order.

    `beside` contains the attempts that are already in flight.
    """
    chosen = (rotation or Rotation()).choose(list(endpoints), Slots(beside, slots=slots))
    counts = Counter(id(one) for one, _ in chosen)
    return [counts[id(one)] for one in endpoints]


@pytest.mark.parametrize(("slots", "starts"), [(1, 1), (2, 2), (8, 5), (64, 33)])
def test_an_endpoint_takes_at_most_one_slot_more_than_half(slots: int, starts: int) -> None:
    [found] = started([waiting()], slots=slots)
    assert found == starts <= slots - found + 2


def test_busy_endpoints_leave_slots_for_an_idle_one() -> None:
    busy = [waiting(due=1000) for _ in range(20)]
    rotation, beside = Rotation(), {}
    for _ in range(50):
        chosen = rotation.choose(busy, Slots(beside.values(), slots=64))
        for one, count in Counter(id(one) for one, _ in chosen).items():
            there = next(each for each in busy if id(each) == one)
            before = beside[one].count if one in beside else 0
            beside[one] = running(there, before + count)
    assert started([waiting(due=1)], beside=beside.values()) == [1]


def test_slow_endpoints_share_half_of_the_slots() -> None:
    slow = [waiting(slow=True, limit=2) for _ in range(64)]
    assert sum(started(slow)) == 32
    assert sum(started(slow, beside=[running(waiting(slow=True), 30)])) == 2
    healthy = waiting(due=5)
    assert started([*slow, healthy])[-1] == 5


def test_one_slot_serves_slow_endpoints_too() -> None:
    assert started([waiting(slow=True)], slots=1) == [1]


def test_accounts_take_turns_however_many_endpoints_they_have() -> None:
    large, small = uuid4(), uuid4()
    counts = started([*(waiting(account=large) for _ in range(9)), waiting(account=small)], slots=4)
    assert sum(counts[:9]) == counts[9] == 2


def test_with_one_slot_each_endpoint_gets_its_turn() -> None:
    endpoints, rotation = [waiting() for _ in range(5)], Rotation()
    turns = [started(endpoints, slots=1, rotation=rotation).index(1) for _ in range(10)]
    assert sorted(turns[:5]) == sorted(turns[5:]) == [0, 1, 2, 3, 4]


def test_at_most_256_claims_wait_for_their_attempts() -> None:
    endpoints = [waiting(limit=128, due=200) for _ in range(4)]
    assert sum(started(endpoints, slots=2_000)) == UNSTARTED == 256
    begun = [running(waiting(), 100) for _ in range(4)]
    assert sum(started(endpoints, slots=2_000, beside=begun)) == UNSTARTED
