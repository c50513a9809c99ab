"""Write the report of a delivery soak: its events, faults, duplicates and violations."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from tests.tools.soak.ground import Ground
from tests.tools.soak.judge import INTERRUPTIONS, Verdict
from tests.tools.soak.run import Story


# Any: JSON
def write(ground: Ground, story: Story, verdict: Verdict, *, seed: int) -> dict[str, Any]:
    """Return the report as a dict that can be stored as JSON."""
    received = {one.body for one in story.heard}
    given_up = sum(one.interruptions >= INTERRUPTIONS for one in story.deliveries)
    return {
        "installation": ground.name,
        "seed": seed,
        "workers": len(ground.workers),
        "seconds": round(story.seconds, 1),
        "events_committed": len(story.deliveries),
        "events_answered": len(story.committed),
        "events_received": sum(one.body in received for one in story.deliveries),
        "answers_of_the_api": dict(story.answers),
        "deliveries": dict(Counter(one.state for one in story.deliveries)),
        "failed_until_retried_manually": len(story.failed),
        "given_up_after_three_interruptions": given_up,
        "attempts": len(story.attempts),
        "attempts_interrupted": sum(one.interrupted for one in story.attempts),
        "requests_received": len(story.heard),
        "duplicates_by_fault": dict(Counter(one.kind for one in verdict.duplicates)),
        "seconds_from_a_death_to_the_next_attempt": {
            "beside_a_living_worker": figures(verdict.taken_over),
            "after_a_new_start": figures(verdict.started_again),
        },
        "ended_by_themselves": story.ended_alone,
        "faults": dict(Counter(one.kind for one in story.faults).most_common()),
        "violations": verdict.violations,
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
