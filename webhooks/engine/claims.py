"""Claim due deliveries, within the shares that `fairness` allows.

A claim is a fencing token on the delivery's row. When the attempt begins, another token replaces it
(see `schedule`). The token guards every write, so a worker that has lost its claim changes nothing.
If a claim's task is lost, the claim expires, and the delivery is claimed again.
"""

import threading
from uuid import UUID, uuid4

from config.database import claims
from config.database.claims import lease_end, renewal_of
from config.database.locks import unlocked
from webhooks.engine import metrics, queue
from webhooks.engine.fairness import Candidate, Rotation, Slots, Waiting
from webhooks.engine.work import Claimed
from webhooks.models import Delivery

WINDOW, WINDOWS = 128, 8  # number of endpoints per window; maximum number of windows per claim
# Minimum and maximum number of due deliveries to read per endpoint and lane (see `Lane`). Within
# these limits, the number read is twice the number that could start, because some deliveries may
# have to wait for others in their threads.
LEAST_READ, MOST_READ = 8, 64
# Maximum number of deliveries per task. A message takes as much CPU time as an attempt. A delivery
# to a slow endpoint has its own task, so that no worker takes more of them than it has threads.
TOGETHER = 16

NO_CLAIM = claims.NO_CLAIM | {"claimed_by": ""}

freed = threading.Event()  # set whenever this process finishes an attempt
renewal = renewal_of(Delivery)
_rotation = Rotation()
_place = queue.BEFORE_ALL  # the last chatbot of the previous window


def claim(slots: int) -> list[Claimed]:
    """Claim due deliveries. `slots` is the number of attempts that all workers can make at once.

    Only one process at a time may call this. On PostgreSQL, the caller must open a transaction.
    """
    queue.keep_to_indexes()
    chosen = _choose(Slots(queue.running(), slots=slots))
    return _take(chosen) if chosen else []


def release(claimed: Claimed) -> None:
    """Release a claim whose attempts will not begin."""
    Delivery.objects.filter(pk__in=claimed.delivery_ids, claim=claimed.claim).update(**NO_CLAIM)


def _choose(slots: Slots) -> list[tuple[Waiting, Candidate]]:
    """Examine windows until one has deliveries that may start, and choose among them."""
    global _place
    current_time, from_start = queue.now(), _place == queue.BEFORE_ALL
    for _ in range(WINDOWS):
        waiting, last = queue.window(_place, WINDOW, current_time)
        _place = last or queue.BEFORE_ALL
        if able := [one for one in waiting if slots.admit(one)]:
            room = max(one.limit - one.in_flight for one in able)
            each = max(LEAST_READ, min(MOST_READ, 2 * room, 2 * slots.free // len(able)))
            queue.read_due(able, each, current_time)
            if chosen := _rotation.choose(able, slots):
                return chosen
        if last is None and from_start:  # every endpoint has been examined
            break
        from_start = from_start or last is None
    return []


def _take(chosen: list[tuple[Waiting, Candidate]]) -> list[Claimed]:
    """Claim the chosen deliveries that have not been locked, changed or deleted meanwhile."""
    token: UUID = uuid4()
    ids = [candidate.delivery_id for _, candidate in chosen]
    free = Delivery.objects.filter(pk__in=ids, claim=None, starts_at__lte=queue.now())
    taken = set(unlocked(free).values_list("pk", flat=True))
    Delivery.objects.filter(pk__in=taken, claim=None).update(claim=token, claimed_until=lease_end())
    metrics.CLAIMED.inc(len(taken))
    held = [(one.slow, each.delivery_id) for one, each in chosen if each.delivery_id in taken]
    fast = [pk for slow, pk in held if not slow]
    return [
        *(Claimed(token, [pk], slow=True) for slow, pk in held if slow),
        *(Claimed(token, fast[n : n + TOGETHER]) for n in range(0, len(fast), TOGETHER)),
    ]
