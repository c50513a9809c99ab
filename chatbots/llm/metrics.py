"""Metrics for the language models, in the web processes and the worker."""

from config.metrics import Counter, Histogram
from config.outbound.failures import Reason

KEY_NOT_SET = "KEY_NOT_SET"
NO_DEFAULT_MODEL, TRIED_TOO_OFTEN = "NO_DEFAULT_MODEL", "TRIED_TOO_OFTEN"

REPLY_SECONDS = Histogram(
    "chatbots_reply_seconds",
    "Time until a model replied or failed",
    ["result"],
    buckets=(0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120),
)
FAILURES = Counter(
    "chatbots_reply_failures",
    "Failed calls to models, and replies for which no model was called",
    ["reason"],
)

# Create each series at 0. If a series first appeared at 1, rate() would miss that first event.
for known in ("reply", "failure"):
    REPLY_SECONDS.labels(known)
for known in (NO_DEFAULT_MODEL, TRIED_TOO_OFTEN, KEY_NOT_SET, "4xx", "5xx", *Reason.values):
    if known:
        FAILURES.labels(known)
