"""A short soak: real processes fail while events are created, and no event is lost.

`make soak` does the same with 5,000 events and 200 faults. Other tests here falsify the record of
the run, and check that tests.tools.soak.judge detects each falsification.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from copy import copy
from dataclasses import replace

import pytest
from django.conf import settings

from tests.groups import needs
from tests.servers import postgres
from tests.tools.soak import replies
from tests.tools.soak.faults import STOPS, Fault
from tests.tools.soak.ground import DELAYS, Ground, embedded, servers
from tests.tools.soak.judge import judge
from tests.tools.soak.ledger import Delivery
from tests.tools.soak.run import Story, run

pytestmark = [pytest.mark.proves("Delivery rules", "Events"), pytest.mark.timeout(300)]

EVENTS, SEED = 200, 1
KINDS = (
    "worker killed",
    "worker halted",
    "worker dies at after-answer",
    "web killed",
    "receiver 500",
    "receiver hang",
    "receiver close",
)
OF_SERVERS = ("redis flushed", "redis killed", "messages doubled", "postgres crashed")


def ground() -> AbstractContextManager[Ground]:
    """Return an installation with the same kind of database as this test run."""
    if settings.EMBEDDED:
        return embedded()
    needs("redis-server")
    if not postgres.programs():
        needs("initdb")
    return servers()


@pytest.fixture(scope="module")
def story() -> Story:
    kinds = KINDS if settings.EMBEDDED else KINDS + OF_SERVERS
    with ground() as here:
        return run(here, kinds, events=EVENTS, seed=SEED, ceiling=240, quiet=True)


@pytest.mark.slow
@pytest.mark.proves("Threads and messages")
def test_every_message_has_one_reply_a_draft_or_an_escalation() -> None:
    with ground() as here:
        told = replies.run(here, messages=30, faults=2, seed=SEED, ceiling=240)
    assert told["violations"] == []
    assert sum(told["ends"].values()) >= 30
    assert told["ends"]["reply"] > 0


@pytest.mark.proves("Delivery rules/4")
def test_every_committed_event_arrives_and_every_duplicate_has_a_fault_as_its_cause(
    story: Story,
) -> None:
    verdict = judge(story)
    assert not verdict.violations
    assert len(story.committed) >= EVENTS
    assert len(story.faults) >= len(KINDS) and all(fault.over for fault in story.faults)


def plain(story: Story) -> Delivery:
    """Return a delivery that is the first in its thread and succeeded on the first attempt."""
    tried = [one.delivery for one in story.attempts]
    return next(
        one
        for one in story.deliveries
        if one.state == "SUCCESS" and one.position == 1 and tried.count(one.id) == 1
    )


def is_never_received(story: Story, one: Delivery) -> None:
    story.heard = [each for each in story.heard if each.body != one.body]


def is_received_twice(story: Story, one: Delivery) -> None:
    story.heard = story.heard + [each for each in story.heard if each.body == one.body]


def is_tried_again_too_early(story: Story, one: Delivery) -> None:
    [attempt] = [each for each in story.attempts if each.delivery == one.id]
    again = replace(attempt, number=2, started=(attempt.finished or 0.0) + DELAYS[0] - 0.01)
    failed = replace(attempt, status="RETRYING", code=None)
    others = [each for each in story.attempts if each is not attempt]
    story.attempts = [failed, again, *others]


def is_taken_over_late(story: Story, one: Delivery) -> None:
    [again] = [each for each in story.attempts if each.delivery == one.id]
    died = again.started - 12.2
    cut = replace(again, interrupted=True, code=None, status="RETRYING", started=died)
    others = [each for each in story.attempts if not (each is again or each.interrupted)]
    story.attempts = [cut, again, *others]
    death = Fault(1, "worker killed", "worker 0", 0.0, 0.0, died, died, died, died)
    story.faults = [death, *(each for each in story.faults if each.kind not in STOPS)]
    story.workers = 2


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (is_never_received, "was never received"),
        (is_received_twice, "without an attempt"),
        (is_tried_again_too_early, "attempt 2 came after 0.49"),
        (is_taken_over_late, "a live worker took over after 12.2 s"),
    ],
)
def test_the_judge_notices_every_falsified_record(
    change: Callable[[Story, Delivery], None], words: str, story: Story
) -> None:
    changed = copy(story)
    change(changed, plain(story))
    assert any(words in violation for violation in judge(changed).violations)
