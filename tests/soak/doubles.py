"""Simulate a broker that delivers tasks twice, by publishing a task for each current claim."""

import time
from contextlib import suppress

import psycopg
from kombu.exceptions import OperationalError

from tests.soak.ledger import Ledger
from tests.soak.postgres import NAME
from webhooks.tasks import deliver

# Deliveries whose attempt has begun are left out. Their claims have been replaced by new ones,
# which the service never passes to a task.
CLAIMED = """SELECT d.claim, d.id FROM webhooks_delivery d WHERE d.claim IS NOT NULL
AND NOT EXISTS (
    SELECT 1 FROM webhooks_attempt a WHERE a.delivery_id = d.id AND a.status = 'PENDING')"""


def publish(ledger: Ledger, broker: str, seconds: float) -> None:
    """Publish tasks for all current claims, again and again, for this many seconds."""
    options = {"transport_options": {"global_keyprefix": f"{NAME}:"}}
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with (
            suppress(psycopg.Error, OperationalError),  # another fault may stop either server
            deliver.app.connection_for_write(broker, **options) as connection,
        ):
            for ids in ledger.rows(CLAIMED):
                deliver.apply_async(tuple(map(str, ids)), connection=connection, retry=False)
        time.sleep(0.01)
