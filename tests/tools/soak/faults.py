"""Draw the faults of a soak from a seed, and cause them in threads.

A fault is due once a certain number of events has been committed, so a given seed produces
the same faults on fast and slow machines. Each component that fails has its own thread, called a
lane. Therefore, the faults of one component happen one after another, but two components may fail
at the same time.
"""

import random
import signal
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import redis

from config.database.claims import LEASE
from tests.servers.processes import Process, Worker
from tests.tools.soak import doubles
from tests.tools.soak.ground import Ground
from tests.tools.soak.listener import Listener

POINTS = ("after-claim", "attempt-begun", "after-answer", "before-settle-commit")
CRASHES = {f"worker dies at {point}": point for point in POINTS}
KILLED, HALTED, PAST_LEASE = "worker killed", "worker halted", "worker halted past its lease"
# The kinds of faults that every installation has, with their relative frequencies. Faults that are
# over quickly are more frequent.
WEIGHTS = {
    KILLED: 6,
    HALTED: 4,
    "worker stopped": 1,
    **dict.fromkeys(CRASHES, 1),
    "web killed": 5,
    "receiver slow": 4,
    "receiver 500": 4,
    "receiver hang": 4,
    "receiver close": 4,
    "receiver reset": 4,
}
OF_SERVERS = {
    "redis flushed": 4,
    "redis killed": 4,
    "redis restarted": 3,
    "messages doubled": 4,
    "postgres crashed": 5,
}
AWAY, AWAY_FOR = "redis away", 75.0  # a long outage of Redis, and its duration in seconds
CUTS = {KILLED, PAST_LEASE, "postgres crashed", *CRASHES}  # faults that can interrupt an attempt
DEATHS = {KILLED, *CRASHES}
# Faults that can delay work
STOPS = {*CUTS, HALTED, "worker stopped", "redis killed", "redis restarted", AWAY}
STOPPED_WITHIN = 60.0  # maximum time for a process to stop, in seconds
# Maximum time in seconds for a worker to reach the crash point where it kills itself (see
# tests/servers/crash.py). If a worker takes longer, the soak kills it.
REACHED_WITHIN = 60.0


@dataclass
class Fault:
    """One fault, whose duration or amount is scaled by `size`, a number in the range [0, 1).

    The fault is due once `moment` events have been committed. The last four fields are times in
    seconds since 1970. The exact time at which a process dies is unknown, but it lies between
    `began` and `ended`. The lane was busy from `since` until `over`, including the time to restart
    the process.
    """

    number: int
    kind: str
    lane: str
    moment: float
    size: float
    began: float = 0.0
    ended: float = 0.0
    since: float = 0.0
    over: float = 0.0

    def scaled(self, least: float, most: float) -> float:
        return least + self.size * (most - least)


def kinds_of(ground: Ground, *, count: int, seed: int) -> list[str]:
    """Draw the kinds of `count` faults, in random order.

    If `count` is large enough, each weighted kind occurs at least once. One of every 100 faults
    halts a worker for longer than its lease. If there is a Redis server, one of every 200 faults
    stops it for AWAY_FOR seconds. The kinds of the remaining faults are drawn by weight.
    """
    rng = random.Random(f"{seed}/kinds")
    weights = WEIGHTS | (OF_SERVERS if ground.postgres else {})
    kinds = [*rng.sample(list(weights), len(weights)), *[PAST_LEASE] * (count // 100)]
    kinds = [*kinds, *[AWAY] * (count // 200 if ground.broker else 0)][:count]
    kinds += rng.choices(list(weights), list(weights.values()), k=count - len(kinds))
    rng.shuffle(kinds)
    return kinds


def draw(ground: Ground, kinds: Sequence[str], *, events: int, seed: int) -> list[Fault]:
    """Create a fault for each item of `kinds`, with a random due time, worker and size."""
    rng = random.Random(f"{seed}/faults")
    moments = sorted(rng.uniform(0.02, 0.98) * events for _ in kinds)
    made = []
    for number, (kind, moment) in enumerate(zip(kinds, moments, strict=True), 1):
        part = kind.partition(" ")[0]
        lane = f"worker {rng.randrange(len(ground.workers))}" if part == "worker" else part
        made.append(Fault(number, kind, lane, moment, rng.random()))
    return made


class Lane(threading.Thread):
    """A thread that causes the faults of one component one after another, each when it is due."""

    def __init__(
        self, faults: Sequence[Fault], make: Callable[[Fault], None], *, now: Callable[[], int]
    ) -> None:
        super().__init__(daemon=True)
        self.faults, self.make, self.now = faults, make, now
        self.done = 0
        self.error = ""

    def run(self) -> None:
        try:
            for fault in self.faults:
                while self.now() < fault.moment:
                    time.sleep(0.02)
                fault.began = fault.since = time.time()
                self.make(fault)
                fault.over = time.time()
                fault.ended = fault.ended or fault.over
                self.done += 1
        except Exception:  # the soak reports any error
            self.error = traceback.format_exc()

    @property
    def late(self) -> int:
        """The number of the lane's faults that are overdue."""
        return sum(fault.moment <= self.now() for fault in self.faults) - self.done


def lanes_of(
    faults: Sequence[Fault], make: Callable[[Fault], None], *, now: Callable[[], int]
) -> list[Lane]:
    """Return a lane for each component that has faults."""
    names = sorted({fault.lane for fault in faults})
    return [Lane([one for one in faults if one.lane == name], make, now=now) for name in names]


class Faults:
    """Causes faults. To start or stop a process, a thread must hold the process's lock."""

    def __init__(self, ground: Ground, listener: Listener) -> None:
        self.ground, self.listener = ground, listener
        self.locks: dict[Process, threading.Lock] = {
            each: threading.Lock() for each in ground.processes
        }

    def make(self, fault: Fault) -> None:
        part = fault.kind.partition(" ")[0]
        getattr(self, f"fail_{part}")(fault)

    def fail_worker(self, fault: Fault) -> None:
        worker = self.ground.workers[int(fault.lane[-1])]
        with self.locks[worker]:
            if fault.kind in (HALTED, PAST_LEASE):
                halt(worker, fault)
            elif fault.kind == KILLED:
                kill(worker, fault)
            elif fault.kind in CRASHES:
                stop(worker)
                crash(worker, CRASHES[fault.kind], fault)
            else:
                stop(worker)
            time.sleep(fault.scaled(0.0, 1.0) if fault.kind in DEATHS else 0.0)
            if fault.kind not in (HALTED, PAST_LEASE):
                worker.start()

    def fail_web(self, fault: Fault) -> None:
        with self.locks[self.ground.web]:
            kill(self.ground.web, fault)
            self.ground.web.start()

    def fail_receiver(self, fault: Fault) -> None:
        mood, paths = fault.kind.rpartition(" ")[2], self.listener.paths
        path = paths[int(fault.size * 1000) % len(paths)]
        self.listener.be(mood, round(fault.scaled(1, 12)), path)

    def fail_redis(self, fault: Fault) -> None:
        broker = self.ground.broker
        assert broker
        if fault.kind == "redis flushed":
            with redis.Redis.from_url(broker.url) as server:
                server.flushall()
            return
        if fault.kind == "redis restarted":
            broker.running.terminate()
            broker.running.wait(20)
        else:
            broker.kill()
        time.sleep(AWAY_FOR if fault.kind == AWAY else fault.scaled(0.0, 1.5))
        broker.start()

    def fail_messages(self, fault: Fault) -> None:
        assert self.ground.broker
        doubles.publish(self.ground.ledger, self.ground.broker.url, fault.scaled(0.5, 1.5))

    def fail_postgres(self, fault: Fault) -> None:
        assert self.ground.postgres
        self.ground.postgres.crash()
        time.sleep(fault.scaled(0.0, 1.5))
        self.ground.postgres.start()


def kill(process: Process, fault: Fault) -> None:
    fault.began = time.time()
    process.kill()
    fault.ended = time.time()


def stop(worker: Worker) -> None:
    """Send SIGTERM to a worker, and wait up to STOPPED_WITHIN seconds for it to exit."""
    worker.signal(signal.SIGTERM)
    worker.wait(STOPPED_WITHIN)


def halt(worker: Worker, fault: Fault) -> None:
    """Halt a worker for 0.1 to 4.5 s, or for longer than a lease (PAST_LEASE)."""
    seconds = fault.scaled(0.1, 4.5)
    if fault.kind == PAST_LEASE:
        seconds = fault.scaled(1, 4) + LEASE.total_seconds()
    worker.signal(signal.SIGSTOP)
    time.sleep(seconds)
    worker.signal(signal.SIGCONT)


def crash(worker: Worker, point: str, fault: Fault) -> None:
    """Run a worker that kills itself when it reaches a crash point for the nth time.

    The fault's size determines n, which is between 1 and 12.
    """
    ordinary, passing = worker.environment, round(fault.scaled(1, 12))
    worker.environment = ordinary | {"TEST_CRASH_POINT": f"{point}:{passing}"}
    worker.start()
    deadline = time.monotonic() + REACHED_WITHIN
    while (code := look(worker, fault)) != -signal.SIGKILL:
        if time.monotonic() > deadline:
            fault.kind = KILLED
            worker.kill()
        elif code is not None:  # it exited because its database was down when it started
            worker.start()
        time.sleep(0.01)
    worker.environment = ordinary


def look(worker: Worker, fault: Fault) -> int | None:
    """Return a worker's exit code, or None if it is still running.

    This also updates the fault's `began` and `ended`. Once the worker has exited, `began` is when
    it was last seen running, and `ended` is when its exit was noticed.
    """
    assert worker.running
    fault.began, began = time.time(), fault.ended or fault.began
    code = worker.running.poll()
    fault.ended = time.time()
    if code is not None:
        fault.began = began
    return code
