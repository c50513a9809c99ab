"""Treat the connection to a Redis broker as lost while Redis refuses writes."""

from typing import Any

from kombu.transport import redis


class WritableChannel(redis.Channel):
    """A channel to a Redis server that accepts writes.

    kombu only checks whether Redis answers. However, a worker cannot consume from a replica or from
    a server whose disk is full, so it would reconnect again and again without pausing.
    """

    def __init__(self, *args: Any, **options: Any) -> None:  # Any: arguments that kombu uses
        """Open the channel. Raises a redis-py error if Redis does not accept a test write."""
        try:
            super().__init__(*args, **options)
            self.client.set("check", "", px=1)
        except BaseException:
            self.close()  # frees the channel number, so that outages do not use up all of them
            raise


class WritableTransport(redis.Transport):
    """A transport whose connection attempts fail while Redis refuses writes."""

    Channel = WritableChannel
