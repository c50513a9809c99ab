"""The faults of a soak: their kinds, how they are drawn, and the threads that cause them.

Each fault is due once a certain number of events has been committed, so that a seed gives the same
faults on fast and slow machines. Each component that fails has its own lane, which is a thread. So
the faults of one component happen one after another, but two components may fail at the same time.
"""

import random
import signal
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import redis

from tests.servers.processes import Process, Worker
from tests.soak import doubles
from tests.soak.ground import TIMEOUT, Ground
from tests.soak.listener import Listener

POINTS = ("after-claim", "attempt-begun", "after-answer", "before-settle-commit")
CRASHES = {f"worker dies at {point}": point for point in POINTS}
KILLED, HALTED, PAST_LEASE = "worker killed", "worker halted", "worker halted past its lease"
WEIGHTS = {  # faults on every installation, with relative frequencies; quick ones are more frequent
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
CUTS = {KILLED, PAST_LEASE, "postgres crashed", *CRASHES}  # these may interrupt an attempt
DEATHS = {KILLED, *CRASHES}
# These may delay work
STOPS = {*CUTS, HALTED, "worker stopped", "redis killed", "redis restarted", AWAY}
STOPPED_WITHIN = 60.0  # seconds that a process may take to stop
# A worker kills itself at a crash point, after an SQL statement or its commit (see
# tests/servers/crash.py). If it does not reach the point within this many seconds, it is killed.
REACHED_WITHIN = 60.0


@dataclass
class Fault:
    """One fault. `size`, in the range [0, 1), scales the fault's duration or amount.

    The fault is due when `moment` events have been committed. The other times are seconds since
    1970. The exact time of a death is not known, but it lies between `began` and `ended`. The lane
    was busy from `since` until `over`, which includes the restart of a process that was stopped.
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
    """Draw the kinds of `count` faults: each weighted kind once, and the rest by weight.

    Of every 100 faults, one halts a worker for longer than its lease. On servers, one of every 200
    stops Redis for AWAY_FOR seconds.
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
        except Exception:  # the soak has to report any error that stops it
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
    """Causes faults. A thread must hold a process's lock to start or stop the process."""

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
    """Halt a worker for 0.1 to 4.5 s, or for longer than an attempt's lease (PAST_LEASE).

    If the halt lasts more than 3 s, the claims of deliveries whose attempts have not begun expire.
    """
    seconds = fault.scaled(0.1, 4.5)
    if fault.kind == PAST_LEASE:
        seconds = fault.scaled(TIMEOUT + 21, TIMEOUT + 24)
    worker.signal(signal.SIGSTOP)
    time.sleep(seconds)
    worker.signal(signal.SIGCONT)


def crash(worker: Worker, point: str, fault: Fault) -> None:
    """Run a worker until it passes a crash point for the nth time, and kills itself.

    The fault's size determines n, which ranges from 1 to 12.
    """
    ordinary, passing = worker.environment, round(fault.scaled(1, 12))
    worker.environment = ordinary | {"TEST_CRASH_POINT": f"{point}:{passing}"}
    worker.start()
    deadline = time.monotonic() + REACHED_WITHIN
    while (code := look(worker, fault)) != -signal.SIGKILL:
        if time.monotonic() > deadline:
            fault.kind = KILLED
            worker.kill()
        elif code is not None:  # the worker started while its database was down, and exited
            worker.start()
        time.sleep(0.01)
    worker.environment = ordinary


def look(worker: Worker, fault: Fault) -> int | None:
    """Return a worker's exit code, or None while it runs.

    Each call also updates the fault's `began` and `ended`. After an exit, these are the time when
    the worker was last seen running, and the time when it was first seen to have exited.
    """
    assert worker.running
    fault.began, began = time.time(), fault.ended or fault.began
    code = worker.running.poll()
    fault.ended = time.time()
    if code is not None:
        fault.began = began
    return code
