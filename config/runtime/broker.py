"""Provide an in-process broker that does not poll, and broker connections that retry quickly."""

import threading
from typing import Any

from celery.app.amqp import AMQP
from kombu import Connection
from kombu.transport import TRANSPORT_ALIASES, memory

LOOK = 0.2  # maximum time that the consumer waits before doing other work, in seconds

wake = threading.Event()  # set when a message arrives, or to interrupt the consumer's wait

# In this file, Any stands for arguments that only Celery and kombu use.


class WakingChannel(memory.Channel):
    """An in-process channel that signals when a message arrives."""

    def _put(self, queue: str, message: Any, **options: Any) -> None:
        super()._put(queue, message, **options)
        wake.set()


class WakingTransport(memory.Transport):
    """An in-process transport that wakes the consumer. kombu's own transport polls instead."""

    Channel = WakingChannel

    def drain_events(self, connection: Any, timeout: float | None = None, **options: Any) -> None:
        """Deliver one message. Raises TimeoutError if none arrives in time.

        Waits at most LOOK seconds, or `timeout` seconds if that is shorter.
        """
        wake.clear()
        try:
            super().drain_events(connection, timeout=0)
        except TimeoutError:
            if not wake.wait(min(timeout or LOOK, LOOK)):
                raise
            super().drain_events(connection, timeout=0)


TRANSPORT_ALIASES["waking"] = f"{__name__}:{WakingTransport.__name__}"
# The class is given by name, because importing its module would load redis-py, a large library.
IN_REDIS = "config.runtime.redis_broker:WritableTransport"
TRANSPORT_ALIASES |= {"redis": IN_REDIS, "rediss": IN_REDIS}


class QuickConnection(Connection):
    """A connection that waits at most one second between attempts to reach the broker."""

    def ensure_connection(self, *args: Any, **options: Any) -> Any:
        """Retry until connected, waiting at most one second between attempts."""
        often = {"interval_start": 0.2, "interval_step": 0.2, "interval_max": 1}
        return super().ensure_connection(*args, **options | often)


class QuickAMQP(AMQP):
    """Celery's messaging, with connections that retry quickly."""

    Connection = QuickConnection
