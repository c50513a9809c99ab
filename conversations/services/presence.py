"""Track which agents have a thread's page open, in a cache entry that every poll renews."""

import logging
import time
from uuid import UUID

from django.core.cache import cache

from accounts.models import User
from config.api.cache_outage import CACHE_ERRORS

HERE = 10  # seconds without a poll after which an agent is considered gone

logger = logging.getLogger(__name__)


def renew(thread_id: UUID, agent: User) -> list[str]:
    """Record that an agent has the page open. Returns the names of the other agents.

    If two agents poll at the same time, one of them may be left out until that agent's next poll.
    If the cache fails, no other agent is reported.
    """
    name, now = f"here-{thread_id}", time.time()
    try:
        known: dict[str, tuple[str, float]] = cache.get(name) or {}
        here = {key: one for key, one in known.items() if now - one[1] < HERE}
        here[str(agent.pk)] = (agent.get_full_name(), now)
        cache.set(name, here, timeout=HERE)
    except CACHE_ERRORS as error:
        logger.warning("cannot tell which agents have a page open: %s", type(error).__name__)
        return []
    return sorted(who for key, (who, _) in here.items() if key != str(agent.pk))
