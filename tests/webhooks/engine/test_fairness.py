"""The order of starts: tables of waiting and running deliveries."""

import gc
import weakref
from collections import Counter
from itertools import count

import pytest

from config.database.ids import new_id
from webhooks.engine import fairness
from webhooks.engine.fairness import PER_ENDPOINT, Candidate, Rotation, Running, Waiting

TIMEOUT = 10.0  # seconds that an attempt may last


class Market:
    """Endpoints with long queues, each in its own account unless told otherwise."""

    def __init__(self):
        self.waiting, self.running, self.lines = [], [], {}
        self.names, self.owner = {}, {}
        self.proven, self.clock = [], 0.0

    def queue(self, name, length=100, *, account=None, slow=False, unproven=False, thread=None):
        chatbot = new_id()
        one = Waiting(chatbot, account or new_id(), slow=slow)
        self.waiting.append(one)
        if not unproven:
            self.proven.append(chatbot)
        self.names[chatbot] = name
        self.lines[chatbot] = [Candidate(new_id(), thread, first=True) for _ in range(length)]
        for candidate in self.lines[chatbot]:
            self.owner[candidate.delivery_id] = one
        return one

    def time(self):
        return {"moment": self.clock, "timeout": TIMEOUT}

    def more(self, one, most):
        return self.lines[one.chatbot_id][: most + 64]

    def start(self, slots, rotation=None):
        """Run rounds until nothing more starts; attempts go on. Returns the starts per endpoint."""
        rotation, started = rotation or Rotation(), Counter()
        while more := self.round(slots, rotation):
            started += more
            self.clock += TIMEOUT
        return started

    def round(self, slots, rotation):
        for one in self.proven:
            rotation.note_answer(one, self.clock)
        chosen = rotation.choose(
            self.waiting, self.running, slots=slots, more=self.more, **self.time()
        )
        for delivery in chosen:
            one = self.owner[delivery]
            line = self.lines[one.chatbot_id]
            found = next(each for each in line if each.delivery_id == delivery)
            line.remove(found)
            self.running.append(
                Running(
                    one.chatbot_id,
                    one.account_id,
                    found.thread_id,
                    mine=True,
                    slow=one.slow,
                )
            )
        return Counter(self.names[self.owner[delivery].chatbot_id] for delivery in chosen)


@pytest.fixture
def market():
    return Market()


@pytest.mark.parametrize(
    ("slots", "queues", "expected"),
    [
        pytest.param(32, {"a": {}}, {"a": 8}, id="eight per endpoint"),
        pytest.param(6, {"a": {}}, {"a": 5}, id="the last quarter is kept for others"),
        pytest.param(
            10, {"a": {}, "b": {"length": 2}}, {"a": 6, "b": 2}, id="unused slots go to others"
        ),
        pytest.param(12, {"a": {}, "b": {}, "c": {}}, {"a": 3, "b": 3, "c": 3}, id="equal shares"),
        pytest.param(
            32, {"a": {"unproven": True}}, {"a": 1}, id="an unproven endpoint is tried once"
        ),
        pytest.param(
            16,
            {"dead": {"slow": True}, "dead too": {"slow": True}, "well": {}},
            {"dead": 4, "dead too": 4, "well": 8},
            id="the slow lane is half of the slots",
        ),
        pytest.param(
            1, {"dead": {"slow": True}}, {"dead": 1}, id="the slow lane has at least one slot"
        ),
    ],
)
def test_slots_are_shared(market, slots, queues, expected):
    for name, options in queues.items():
        market.queue(name, **options)
    assert market.start(slots) == expected


def test_running_attempts_count_on_every_worker(market):
    one = market.queue("a")
    market.running = [Running(one.chatbot_id, one.account_id, None, mine=False, slow=False)] * (
        PER_ENDPOINT - 1
    )
    assert market.start(32) == {"a": 1}


def test_slots_rotate_between_accounts_and_not_between_endpoints(market):
    big = new_id()
    for name in ("a", "b", "c"):
        market.queue(name, account=big)
    market.queue("small")
    started = market.start(10)
    assert started["small"] == 4
    assert sum(started.values()) == 8


def test_within_an_account_the_endpoint_with_the_fewest_running_attempts_is_first(market):
    account = new_id()
    market.queue("a", account=account)
    market.queue("b", account=account)
    assert market.start(8) == {"a": 3, "b": 3}


def test_with_a_single_slot_every_endpoint_gets_its_turn(market):
    for name in range(5):
        market.queue(name)
    rotation, served = Rotation(), Counter()
    for _ in range(10):
        served += market.start(1, rotation)
        market.running.clear()
    assert set(served.values()) == {2}


@pytest.mark.parametrize("remembered", [1, 6, 10_000])
def test_every_waiting_endpoint_is_served_even_if_few_are_remembered(
    market, monkeypatch, remembered
):
    monkeypatch.setattr(fairness, "REMEMBERED", remembered)
    for name in range(10):
        market.queue(name)
    rotation, served = Rotation(), Counter()
    for _ in range(30):
        served += market.start(1, rotation)
        market.running.clear()
    assert set(served.values()) == {3}


def test_endpoints_without_waiting_deliveries_are_forgotten(monkeypatch):
    monkeypatch.setattr(fairness, "REMEMBERED", 20)
    rotation, ids = Rotation(), []
    for _ in range(200):
        one = Waiting(new_id(), new_id(), slow=False)
        ids += [weakref.ref(one.chatbot_id), weakref.ref(one.account_id)]
        candidate = Candidate(new_id(), None, first=True)
        assert rotation.choose(
            [one], [], slots=1, more=lambda *_, given=candidate: [given], moment=0, timeout=TIMEOUT
        )
    del one
    gc.collect()
    assert 2 <= len([each for each in ids if each()]) <= 22


def test_an_endpoint_with_a_long_running_attempt_is_slow_immediately(market):
    one = market.queue("was well")
    market.queue("well")
    market.running = [Running(one.chatbot_id, one.account_id, None, mine=True, slow=True)] * 2
    assert market.start(5) == {"well": 2}


def test_many_unproven_endpoints_leave_room_for_proven_ones(market):
    for name in count():
        if name == 50:
            break
        market.queue(name, unproven=True)
    market.queue("known")
    started = market.start(32)
    assert (started["known"], sum(started.values())) == (8, 32)
    assert market.start(32) == {}


def test_a_thread_has_one_first_attempt_in_progress(market):
    market.queue("a", thread=new_id())
    assert market.start(32) == {"a": 1}
    assert market.start(32) == {}


def test_queues_are_read_only_for_endpoints_that_get_a_slot(market):
    for name in range(100):
        market.queue(name)
    asked, rotation = [], Rotation()
    for one in market.proven:
        rotation.note_answer(one, market.clock)
    rotation.choose(
        market.waiting,
        [],
        slots=3,
        more=lambda one, most: asked.append(one.chatbot_id) or market.more(one, most),
        **market.time(),
    )
    assert len(asked) == 3


def test_endpoints_that_stop_answering_leave_room_for_others(market):
    for name in range(50):
        market.queue(name)
    assert market.start(64).total() == 50
    market.queue("well")
    assert market.start(64) == {"well": 1}


def test_endpoints_that_timed_out_start_one_by_one(market):
    for number in range(10):
        market.queue(f"dead {number}", slow=True)
    market.queue("well")
    round_one = market.round(64, Rotation())
    assert round_one.pop("well") == PER_ENDPOINT
    assert round_one.total() == 1


def test_attempts_to_hanging_endpoints_are_spread_over_the_timeout_and_get_their_share(market):
    for number in range(100):
        market.queue(number, slow=True)
    slots, lasts = 64, int(TIMEOUT * 100)  # rounds of 10 ms
    rotation, began = Rotation(), []
    for number in range(6 * lasts):
        market.clock = number / 100
        del market.running[: sum(began[number - lasts : number - lasts + 1]) * (number >= lasts)]
        began.append(market.round(slots, rotation).total())
    settled = began[3 * lasts :]
    assert sum(settled) / 3 >= 0.9 * slots / 2
    in_a_second = [sum(settled[at : at + 100]) for at in range(0, len(settled), 100)]
    assert max(in_a_second) <= 2 * (sum(settled) / len(in_a_second)) + 1


def test_endpoints_without_a_recent_response_start_a_few_at_a_time(market):
    for number in range(100):
        market.queue(number, unproven=True)
    rotation = Rotation()
    assert [market.round(64, rotation).total() for _ in range(5)] == [8, 1, 1, 1, 1]
    rotation.note_answer(market.running[0].chatbot_id, market.clock)
    assert market.round(64, rotation) == {0: PER_ENDPOINT - 1, 12: 1}
    market.clock += fairness.LATELY
    assert market.round(64, rotation) == {13: 1}


@pytest.mark.parametrize("kind", ["slow", "unproven"])
@pytest.mark.parametrize("slots", [1, 3, 64])
def test_an_endpoint_that_answers_quickly_does_not_wait(market, kind, slots):
    for number in range(100):
        market.queue(number, length=1, **{kind: True})
    rotation, served = Rotation(), 0
    for number in range(100):
        market.clock = number / 100
        begun = market.round(slots, rotation).total()
        assert begun or served == 100
        served += begun
        market.running.clear()
    assert served == 100
