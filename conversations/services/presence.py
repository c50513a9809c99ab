"""Track which agents have a thread's page open, in a cache entry that every poll renews."""

import time
from uuid import UUID

from django.core.cache import cache

from accounts.models import User
from config.api.cache_outage import outage

HERE = 10  # seconds without a poll after which an agent is considered gone


def renew(thread_id: UUID, agent: User) -> list[str]:
    """Record that an agent has the page open. Returns the names of the other agents.

    If two agents poll at the same time, one of them may be left out until that agent's next poll.
    If the cache is down, no other agent is reported.
    """
    name, now = f"here-{thread_id}", time.time()

    def update() -> list[str]:
        known: dict[str, tuple[str, float]] = cache.get(name) or {}
        here = {key: one for key, one in known.items() if now - one[1] < HERE}
        here[str(agent.pk)] = (agent.get_full_name(), now)
        cache.set(name, here, timeout=HERE)
        return sorted(who for key, (who, _) in here.items() if key != str(agent.pk))

    return outage.attempt(update) or []
