"""Write the report of a delivery soak: its events, faults, duplicates and violations."""

import os
import platform
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

from tests.tools.soak.faults import Fault
from tests.tools.soak.ground import DELAYS, SLOTS, TIMEOUT, Ground
from tests.tools.soak.judge import INTERRUPTIONS, Verdict
from tests.tools.soak.run import Story

VERSIONS = ("django", "celery", "requests", "psycopg", "redis")


# Any: JSON, here and below
def write(ground: Ground, story: Story, verdict: Verdict, *, seed: int) -> dict[str, Any]:
    """Return the report as a dict that can be stored as JSON."""
    return {
        "installation": ground.name,
        "seed": seed,
        "machine": f"{os.cpu_count()} cores, {platform.machine()}",
        "versions": {"python": platform.python_version()}
        | {name: version(name) for name in VERSIONS}
        | ground.versions(),
        "settings": {
            "workers": len(ground.workers),
            "concurrency": SLOTS,
            "timeout_s": TIMEOUT,
            "retry_delays_s": DELAYS,
        },
        "seconds": round(story.seconds, 1),
        **of_events(story),
        "duplicates": len(verdict.duplicates),
        "duplicates_by_fault": dict(Counter(one.kind for one in verdict.duplicates)),
        "duplicates_explained": [asdict(one) for one in verdict.duplicates],
        "seconds_from_a_death_to_the_next_attempt": {
            "beside_a_living_worker": figures(verdict.taken_over),
            "after_a_new_start": figures(verdict.started_again),
        },
        "ended_by_themselves": story.ended_alone,
        **of_faults(story),
        "violations": verdict.violations,
    }


def begin_of(faults: Sequence[Fault]) -> float:
    return min((one.began for one in faults), default=0.0)


def of_events(story: Story) -> dict[str, Any]:
    received = {one.body for one in story.heard}
    return {
        "events_committed": len(story.deliveries),
        "events_answered": len(story.committed),
        "events_received": sum(one.body in received for one in story.deliveries),
        "answers_of_the_api": dict(story.answers),
        "deliveries": dict(Counter(one.state for one in story.deliveries)),
        "failed_until_retried_manually": len(story.failed),
        "given_up_after_three_interruptions": sum(
            one.interruptions >= INTERRUPTIONS for one in story.deliveries
        ),
        "received_only_when_retried_manually": len(only_manual(story)),
        "attempts": len(story.attempts),
        "attempts_interrupted": sum(one.interrupted for one in story.attempts),
        "requests_received": len(story.heard),
    }


def only_manual(story: Story) -> set[str]:
    """Return the manually retried deliveries that did not reach the receiver before the retry."""
    manual = {one.delivery: one.started for one in story.attempts if one.by}
    bodies = {one.body: one.id for one in story.deliveries if one.id in manual}
    before = {
        bodies[one.body]
        for one in story.heard
        if one.body in bodies and one.at < manual[bodies[one.body]]
    }
    return manual.keys() - before


def of_faults(story: Story) -> dict[str, Any]:
    """Count the faults and list them. Times are seconds since the first fault."""
    begin = begin_of(story.faults)
    return {
        "faults": len(story.faults),
        "faults_by_kind": dict(Counter(one.kind for one in story.faults).most_common()),
        "faults_at": [
            {
                "number": one.number,
                "kind": one.kind,
                "lane": one.lane,
                "began_s": round(one.began - begin, 3),
                "ended_s": round(one.ended - begin, 3),
            }
            for one in story.faults
        ],
    }


def figures(seconds: Sequence[float]) -> dict[str, float]:
    """Return the count, the median and the maximum of the given times."""
    if not seconds:
        return {"count": 0}
    ordered = sorted(seconds)
    return {
        "count": len(ordered),
        "p50": round(ordered[len(ordered) // 2], 3),
        "max": round(ordered[-1], 3),
    }
