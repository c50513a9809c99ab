"""The settings of a PostgreSQL database: its URL's, and those of the connections and their pool."""

from typing import Any

import dj_database_url

from config.database.postgresql.connection import Connection

# Detect within 15 seconds that the server's machine is gone, even while waiting for a response.
KEEPALIVES = {"keepalives_idle": 5, "keepalives_interval": 5, "tcp_user_timeout": 10_000}
# Never connect to a standby, because the pool would keep using it after a failover.
OPTIONS = {"connect_timeout": 5, "target_session_attrs": "read-write"} | KEEPALIVES
# A process that is suspended within a transaction must not hold its locks for long. JIT is off: it
# takes 40 ms, and PostgreSQL would use it even for a fast query if it expected many rows.
SESSION = "-c idle_in_transaction_session_timeout=10s -c jit=off"
POOL = {
    "connection_class": Connection,
    "min_size": 2,
    # More than the requests that run at the same time. No request holds a connection while it waits
    # for a network peer.
    "max_size": 7,
    "timeout": 2.0,  # seconds that a request waits for a connection
    # Seconds after which the pool stops trying to open a connection. The next request then starts a
    # new attempt. A higher value would prolong an outage, because the pauses between attempts
    # double.
    "reconnect_timeout": 2.0,
}


def database(url: str) -> dict[str, Any]:
    """Return Django's settings for the database of a URL, whose own options take precedence."""
    parsed: dict[str, Any] = {**dj_database_url.parse(url), "ENGINE": "config.database.postgresql"}
    given = parsed.get("OPTIONS", {})
    session = f"{SESSION} {given.get('options', '')}".strip()
    return parsed | {"OPTIONS": OPTIONS | given | {"options": session, "pool": POOL}}
