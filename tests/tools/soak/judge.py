"""Check the result of a soak: committed events, attempts and received requests must match."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from statistics import median

from tests.tools.soak.faults import CUTS, DEATHS, STOPS, Fault
from tests.tools.soak.ground import DELAYS
from tests.tools.soak.ledger import Attempt, Delivery
from tests.tools.soak.listener import Heard
from tests.tools.soak.run import Story

EXACT = 0.1  # maximum difference, in seconds, between two processes' times for the same event
LATE = 2.0  # maximum delay, in seconds, with which a busy receiver records a dead sender's request
INTERRUPTIONS = 3  # number of interruptions after which a delivery fails
TRIES = len(DELAYS) + 1
HANG_UPS = ("close", "reset")
TAKEN_OVER = (
    12.0  # maximum median time of a takeover, in seconds; on an idle machine, it is about 8
)
TO_START = 5.0  # maximum time for a worker to start, in seconds


@dataclass(frozen=True)
class Duplicate:
    """A second request with the same attempt number, and the fault that caused the repetition."""

    delivery: str
    number: int
    fault: int
    kind: str


@dataclass
class Verdict:
    """What the checks found: violations, duplicates caused by faults, and delays after deaths.

    A delay is the time in seconds from a worker's death to the next attempt of a delivery that
    the death interrupted. If another worker was alive and nothing else failed, the delay is in
    `taken_over`. Otherwise, it is in `started_again`.
    """

    violations: list[str] = field(default_factory=list)
    duplicates: list[Duplicate] = field(default_factory=list)
    taken_over: list[float] = field(default_factory=list)
    started_again: list[float] = field(default_factory=list)


@dataclass
class Case:
    """One delivery, with its attempts and received requests in chronological order."""

    delivery: Delivery
    attempts: list[Attempt]
    heard: list[Heard]
    faults: Sequence[Fault]
    had_failed: bool
    several: bool
    sent: dict[Attempt, Heard] = field(default_factory=dict)
    repeated: set[Attempt] = field(default_factory=set)

    def judge(self, verdict: Verdict) -> None:
        rules = (self.arrival, self.state, self.numbers, self.times, self.matches, self.doubles)
        found = [words for rule in rules for words in rule(verdict)]
        verdict.violations += [f"delivery {self.delivery.id}: {words}" for words in found]

    @property
    def whole(self) -> list[Attempt]:
        """The attempts that were not interrupted."""
        return [one for one in self.attempts if not one.interrupted]

    def arrival(self, verdict: Verdict) -> Iterator[str]:
        if not self.heard:
            yield "was never received"
        if self.delivery.state == "SUCCESS" and 200 not in {one.said for one in self.heard}:
            yield "is SUCCESS, but the receiver never answered 200"

    def state(self, verdict: Verdict) -> Iterator[str]:
        if self.delivery.state not in ("SUCCESS", "FAILED"):
            yield f"is still {self.delivery.state}"
        given_up = self.delivery.interruptions >= INTERRUPTIONS
        scheduled = [one for one in self.whole if not one.by]
        if self.had_failed and not given_up and len(scheduled) != TRIES:
            yield f"FAILED after {len(scheduled)} attempts"
        if self.delivery.interruptions != len(self.attempts) - len(self.whole):
            yield "its count of interruptions does not match its attempts"

    def numbers(self, verdict: Verdict) -> Iterator[str]:
        """Check that attempt numbers are consecutive and match the delivery's count and state."""
        numbers = [one.number for one in self.whole]
        ends = [one.status for one in self.whole]
        if self.delivery.interruptions < INTERRUPTIONS:
            if numbers != list(range(1, len(numbers) + 1)):
                yield f"has the attempts {numbers}"
            if self.delivery.attempts_count != len(numbers):
                yield f"counts {self.delivery.attempts_count} of {len(numbers)} attempts"
        if ends and (ends[-1] != self.delivery.state or "SUCCESS" in ends[:-1]):
            yield f"is {self.delivery.state}, but its attempts ended {ends}"
        if any(one.status == "PENDING" for one in self.attempts):
            yield "an attempt never ended"

    def times(self, verdict: Verdict) -> Iterator[str]:
        """Check that no automatic retry starts before its delay has passed."""
        for before in self.whole:
            following = [one for one in self.attempts if one.number == before.number + 1]
            if not following or following[0].by or before.number > len(DELAYS):
                continue
            waited = following[0].started - (before.finished or 0.0)
            if waited < DELAYS[before.number - 1] - 0.001:
                yield f"attempt {following[0].number} came after {waited:.3f} s"

    def matches(self, verdict: Verdict) -> Iterator[str]:
        """Check that each recorded response was sent, and that each request fits an attempt."""
        left = list(self.heard)
        for attempt in self.attempts:
            if attempt.code is None:
                continue
            found = [one for one in left if one.said == attempt.code and within(attempt, one)]
            if found:
                self.sent[attempt] = found[0]
                left.remove(found[0])
            else:
                yield f"attempt {attempt.number} recorded {attempt.code}, which was not sent"
        for heard in left:
            if not self.assign(heard, verdict):
                yield f"was received at {heard.at:.3f} without an attempt"

    def assign(self, heard: Heard, verdict: Verdict) -> bool:
        """Assign a request without a recorded response to an attempt. Return whether one fits.

        If several attempts fit, choose the latest, because the earlier ones may not have sent
        anything. An interrupted attempt may send its request later, when a halted worker resumes.
        """
        around = [one for one in self.attempts if within(one, heard)]
        free = [one for one in around if one not in self.sent]
        if not free and any(self.said_again(one, heard, verdict) for one in around):
            return True
        free = free or [
            one
            for one in self.attempts
            if one.interrupted and one not in self.sent and one.started <= heard.at
        ]
        if free:
            self.sent[free[-1]] = heard
        return bool(free)

    def said_again(self, attempt: Attempt, other: Heard, verdict: Verdict) -> bool:
        """Allow a second request if the receiver closed the connection without a response.

        On a reused connection, the sender cannot know whether the receiver read the first request.
        """
        first = min(self.sent[attempt], other, key=lambda one: one.at)
        if first.mood not in HANG_UPS or attempt in self.repeated:
            return False
        self.repeated.add(attempt)
        kind = f"receiver {first.mood}"
        found = [one for one in self.faults if one.kind == kind and one.began <= first.at]
        number = found[-1].number
        verdict.duplicates.append(Duplicate(self.delivery.id, attempt.number, number, kind))
        return True

    def doubles(self, verdict: Verdict) -> Iterator[str]:
        """Check that each interruption was caused by a fault, and record the duplicates."""
        for attempt in self.attempts:
            if not attempt.interrupted:
                continue
            heard = self.sent.get(attempt)
            fault = self.cause(attempt, heard)
            if fault is None:
                yield (
                    f"attempt {attempt.number}, started at {attempt.started},"
                    " was interrupted without a fault"
                )
                continue
            later = [one for one in self.attempts if one.started > attempt.started]
            if fault.kind in DEATHS and later and not later[0].by:
                self.note(verdict, fault, later[0].started)
            again = [one for one in later if one.number == attempt.number and one in self.sent]
            if heard and again:
                verdict.duplicates.append(
                    Duplicate(self.delivery.id, attempt.number, fault.number, fault.kind)
                )

    def cause(self, attempt: Attempt, heard: Heard | None) -> Fault | None:
        """Return the last fault that may have interrupted an attempt, or None.

        If the receiver got the request, faults that ended before the request was sent are ignored.
        """
        until = (attempt.finished or attempt.started) + EXACT
        since = heard.at - LATE if heard and heard.at <= until else attempt.started - EXACT
        found = [
            fault
            for fault in self.faults
            if fault.kind in CUTS and fault.ended >= since and fault.began <= until
        ]
        return found[-1] if found else None

    def note(self, verdict: Verdict, death: Fault, again: float) -> None:
        """Record the time from a worker's death to the next attempt."""
        beside = [
            one
            for one in self.faults
            if one.lane != death.lane and one.kind in STOPS
            if one.since <= again and one.over + TO_START >= death.began
        ]
        known = verdict.taken_over if self.several and not beside else verdict.started_again
        if again > death.ended:
            known.append(again - death.ended)


def within(attempt: Attempt, heard: Heard) -> bool:
    """Return whether a request arrived during this attempt."""
    late = LATE if attempt.code is None else EXACT
    return attempt.started - EXACT <= heard.at <= (attempt.finished or 0.0) + late


def judge(story: Story) -> Verdict:
    """Check each delivery, each thread, and the run as a whole."""
    verdict = Verdict(violations=list(of_the_whole(story)))
    attempts: defaultdict[str, list[Attempt]] = defaultdict(list)
    for attempt in story.attempts:
        attempts[attempt.delivery].append(attempt)
    heard: defaultdict[bytes, list[Heard]] = defaultdict(list)
    for one in sorted(story.heard, key=lambda one: one.at):
        heard[one.body].append(one)
    faults = sorted(story.faults, key=lambda one: one.ended)
    cases = {
        one.id: Case(
            one,
            attempts[one.id],
            heard[one.body],
            faults,
            one.id in story.failed,
            story.workers > 1,
        )
        for one in story.deliveries
    }
    for case in cases.values():
        case.judge(verdict)
    by_place = sorted(story.deliveries, key=lambda one: (one.thread, one.position))
    for _, thread in groupby(by_place, key=lambda one: one.thread):
        verdict.violations += order([cases[one.id] for one in thread])
    if verdict.taken_over and (seconds := median(verdict.taken_over)) > TAKEN_OVER:
        verdict.violations.append(f"a live worker took over after {seconds:.1f} s")
    return verdict


def of_the_whole(story: Story) -> Iterator[str]:
    known = {one.message for one in story.deliveries}
    bodies = {one.body for one in story.deliveries}
    yield from (f"message {one}: committed, but has no event" for one in story.committed - known)
    yield from (f"delivery {one}: left SUCCESS" for one in story.left_success)
    if story.without_event:
        yield f"{story.without_event} messages have no event"
    if len(bodies) != len(story.deliveries) or len(known) != len(story.deliveries):
        yield "two deliveries have the same message or body"
    if strange := sum(one.body not in bodies for one in story.heard):
        yield f"{strange} requests have bytes that were never committed"
    if story.left_to_do:
        yield f"{story.left_to_do} deliveries are not settled"
    if odd := {code for code in story.answers if code.isdigit()} - {"200", "503"}:
        yield f"the API answered {sorted(odd)}"
    yield from story.errors


def order(thread: Sequence[Case]) -> Iterator[str]:
    """Check that the first attempts of a thread's deliveries start in the order of its events.

    The first requests of two deliveries must also arrive in this order, unless the first attempt
    of the earlier delivery failed.
    """
    for before, after in pairwise(thread):
        if not (before.attempts and after.attempts and before.heard and after.heard):
            continue
        if before.attempts[0].started > after.attempts[0].started:
            yield f"delivery {after.delivery.id}: started before its thread's earlier event"
        smooth = before.attempts[0].status == "SUCCESS"
        if smooth and before.heard[0].at > after.heard[0].at:
            yield f"delivery {after.delivery.id}: was received before its thread's earlier event"
