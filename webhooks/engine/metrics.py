"""The engine's metrics, counted in each worker."""

from datetime import timedelta

from config.metrics import Counter, Gauge, Histogram
from config.outbound.failures import Reason, class_of
from webhooks.engine.work import Result, Work
from webhooks.models.delivery import State
from webhooks.models.reason import Refusal

DELAYS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800)
CLAIM_TIMES = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)

ATTEMPTS = Counter(
    "chatbots_attempts",
    "Finished attempts, by the status class of the response or the reason why there was none",
    ["outcome"],
)
ENDED = Counter("chatbots_deliveries_ended", "Finished deliveries, by state", ["state"])
LATENESS = Histogram(
    "chatbots_attempt_lateness_seconds",
    "Time from when an attempt was due until it began",
    buckets=DELAYS,
)
ARRIVAL = Histogram(
    "chatbots_commit_to_arrival_seconds",
    "Time from the commit of an event until its first request was sent to the receiver",
    buckets=DELAYS,
)
CLAIM_SECONDS = Histogram(
    "chatbots_claim_seconds", "Time to claim due deliveries", buckets=CLAIM_TIMES
)
CLAIMED = Counter("chatbots_claimed_deliveries", "Deliveries claimed")
BUSY = Gauge(
    "chatbots_worker_busy_threads",
    "Worker threads that are running a task or an attempt",
    multiprocess_mode="livesum",
)

# Create each series now, at 0: rate() would miss the first event of a series that begins at 1.
for known in ("2xx", "3xx", "4xx", "5xx", *filter(None, Reason.values), *Refusal.values):
    ATTEMPTS.labels(known)
for known in (State.SUCCESS, State.FAILED):
    ENDED.labels(known)


def attempt_ended(result: Result, state: State) -> None:
    """Count an attempt whose result was stored, and its delivery if the delivery has ended."""
    code = result.outcome and result.outcome.response_code
    ATTEMPTS.labels(f"{class_of(code)}xx" if code else result.reason).inc()
    if state in (State.SUCCESS, State.FAILED):
        ENDED.labels(state).inc()


def attempt_interrupted(*, last: bool) -> None:
    """Count an interrupted attempt, and its delivery if this was the last attempt."""
    ATTEMPTS.labels(Refusal.INTERRUPTED_TOO_OFTEN if last else Refusal.INTERRUPTED).inc()
    if last:
        ENDED.labels(State.FAILED).inc()


def attempt_begins(late: timedelta) -> None:
    """Measure how late an attempt begins."""
    LATENESS.observe(max(0.0, late.total_seconds()))


def request_leaves(work: Work) -> None:
    """Measure the time between a first attempt's due time and the sending of its request."""
    if work.number == 1 and not work.once:
        ARRIVAL.observe(work.seconds_since_due())
