"""How messages travel: what Celery's own transports lack for us."""

import threading
from typing import Any

from celery.app.amqp import AMQP
from kombu import Connection
from kombu.transport import TRANSPORT_ALIASES, memory

LOOK = 0.2  # seconds at most between two looks of the consumer at what else it has to do

wake = threading.Event()  # set when a message has come, or when the consumer shall look up

# Any, below: the seams pass on whatever Celery and kombu give.


class WakingChannel(memory.Channel):
    """A channel within the process that tells of each message."""

    def _put(self, queue: str, message: Any, **options: Any) -> None:
        super()._put(queue, message, **options)
        wake.set()


class WakingTransport(memory.Transport):
    """Messages within the process, taken the moment they come: kombu's looks for them instead."""

    Channel = WakingChannel

    def drain_events(self, connection: Any, timeout: float | None = None, **options: Any) -> None:
        """Take one message, waiting for it. Raises TimeoutError when none comes."""
        wake.clear()
        try:
            super().drain_events(connection, timeout=0)
        except TimeoutError:
            if not wake.wait(min(timeout or LOOK, LOOK)):
                raise
            super().drain_events(connection, timeout=0)


TRANSPORT_ALIASES["waking"] = f"{__name__}:{WakingTransport.__name__}"


class QuickConnection(Connection):
    """A connection that looks for a lost broker every second, not ever more rarely."""

    def ensure_connection(self, *args: Any, **options: Any) -> Any:
        """Connect, for as long as it takes."""
        often = {"interval_start": 0.2, "interval_step": 0.2, "interval_max": 1}
        return super().ensure_connection(*args, **options | often)


class QuickAMQP(AMQP):
    """Celery's messaging with such connections."""

    Connection = QuickConnection
