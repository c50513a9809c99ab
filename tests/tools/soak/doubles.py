"""Simulate a broker that delivers tasks twice, by publishing extra tasks for current claims."""

import time
from contextlib import suppress
from typing import Any

import psycopg
from kombu.exceptions import OperationalError

from tests.servers.postgres import NAME
from tests.tools.soak.ledger import Ledger
from webhooks.tasks import deliver

# This query leaves out deliveries whose attempt has begun, because beginning an attempt replaces
# the claim with a new one that the service never passes to a task.
CLAIMED = """SELECT d.claim, d.id FROM webhooks_delivery d WHERE d.claim IS NOT NULL
AND NOT EXISTS (
    SELECT 1 FROM webhooks_attempt a WHERE a.delivery_id = d.id AND a.status = 'PENDING')"""


def publish(ledger: Ledger, broker: str, seconds: float) -> None:
    """Repeatedly publish tasks for all current claims until `seconds` seconds have passed."""
    options = {"transport_options": {"global_keyprefix": f"{NAME}:"}}
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with (
            suppress(psycopg.Error, OperationalError),  # another fault may have stopped a server
            deliver.app.connection_for_write(broker, **options) as connection,
        ):
            for ids in ledger.rows(CLAIMED):
                given: dict[str, Any] = {"connection": connection, "retry": False}
                deliver.apply_async(tuple(map(str, ids)), queue="slow", **given)
        time.sleep(0.01)
