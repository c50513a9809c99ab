"""The Prometheus metrics page: the processes' own metrics, and metrics read from the database.

A separate thread reads the database, at most once every METRICS_FRESH seconds. The page waits only
briefly for this thread, so it responds even if the database is down or every connection is in use.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from datetime import timedelta

from django.conf import settings
from django.db import DatabaseError
from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.utils import timezone
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.core import GaugeMetricFamily

from accounts.models import Mail
from config.database.connections import release_connection
from config.metrics import registry
from config.models import Worker
from conversations.models import LedgerCheck, OwedReply
from webhooks import metrics as of_webhooks

WITHIN = 1.0  # maximum number of seconds that the page waits for the database
KEPT = 60.0  # seconds after which values are dropped if newer ones cannot be read
MOST = 10_000  # maximum number of rows to count
MAIL_LATE = timedelta(seconds=60)

logger = logging.getLogger(__name__)

Samples = dict[str, dict[str, float]]  # keyed by metric, then by label value ("" for no label)

HELP = {
    "chatbots_deliveries_due": "Deliveries that are due and that no worker has claimed",
    "chatbots_deliveries_late": "Unclaimed deliveries that have been due for more than a minute",
    "chatbots_deliveries_oldest_due_seconds": "How long the oldest due delivery has been due",
    "chatbots_deliveries_in_flight": "Deliveries that a worker has claimed",
    "chatbots_workers": "Workers that are alive",
    "chatbots_replies_owed": "Visitor messages that are waiting for a reply",
    "chatbots_replies_overdue": (
        "Visitor messages that are waiting for a reply while no process is generating one"
    ),
    "chatbots_mails_late": "Emails that have been due for more than a minute",
    "chatbots_sending": "1 if deliveries and emails are sent, 0 if SENDING is off",
    "chatbots_ledger_gaps": "Gaps found by the last complete daily check of the ledger",
    "chatbots_ledger_age_seconds": "Time since the last complete daily check of the ledger",
    "chatbots_database_up": "1 if the last attempt to read the database succeeded, otherwise 0",
}


def read() -> Samples:
    """Read the values of the metrics that are derived from the database."""
    deliveries = of_webhooks.read()
    owed = OwedReply.objects.order_by("claimed_until")
    late = Mail.objects.filter(due_at__lt=Now() - MAIL_LATE)
    check = LedgerCheck.last()
    return {
        "chatbots_deliveries_due": {"": deliveries.due},
        "chatbots_deliveries_late": {"": deliveries.late},
        "chatbots_deliveries_oldest_due_seconds": {"": deliveries.oldest_s},
        "chatbots_deliveries_in_flight": {"": deliveries.in_flight},
        "chatbots_workers": {"": Worker.objects.alive().count()},
        "chatbots_replies_owed": {"": owed[:MOST].count()},
        "chatbots_replies_overdue": {"": owed.filter(claimed_until__lt=Now())[:MOST].count()},
        "chatbots_mails_late": {"": late[:MOST].count()},
        "chatbots_ledger_gaps": dict(check.gaps) if check else {},
        "chatbots_ledger_age_seconds": (
            {"": (timezone.now() - check.finished_at).total_seconds()}
            if check and check.finished_at
            else {}
        ),
    }


class DatabaseFigures:
    """Reports the SENDING setting, the database's status, and the values that `read` returns."""

    LABELS = {"chatbots_ledger_gaps": "kind"}

    def __init__(self, read: Callable[[], Samples]) -> None:
        self.read = read
        self.lock = threading.Lock()
        self.reader = ThreadPoolExecutor(1, thread_name_prefix="metrics")
        self.reading: Future[None] | None = None
        self.known: Samples = {}
        self.up: bool | None = None
        self.asked_at = self.known_at = float("-inf")

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield the latest values, after waiting at most WITHIN seconds for newer ones.

        Values read from the database are dropped after KEPT seconds.
        """
        with self.lock:
            idle = self.reading is None or self.reading.done()
            if idle and time.monotonic() - self.asked_at > settings.METRICS_FRESH:
                self.asked_at = time.monotonic()
                self.reading = self.reader.submit(self._refresh)
            reading = self.reading
        if reading:
            wait([reading], WITHIN)
        figures: Samples = {"chatbots_sending": {"": settings.SENDING}}
        if self.up is not None:
            figures["chatbots_database_up"] = {"": self.up}
        if time.monotonic() - self.known_at < KEPT:
            figures |= self.known
        for name, values in figures.items():
            if values:
                yield self._gauge(name, values)

    def _refresh(self) -> None:
        try:
            self.known, self.up = self.read(), True
            self.known_at = time.monotonic()
        except DatabaseError as error:
            self.up = False
            logger.warning("metrics: the database does not respond: %s", error)
        finally:
            release_connection()

    def _gauge(self, name: str, values: dict[str, float]) -> GaugeMetricFamily:
        label = self.LABELS.get(name)
        gauge = GaugeMetricFamily(name, HELP[name], labels=[label] if label else None)
        for value_of, value in values.items():
            gauge.add_metric([value_of] if label else [], float(value))
        return gauge


database = DatabaseFigures(read)


def metrics(request: HttpRequest) -> HttpResponse:
    """Return the metrics of all processes that share METRICS_DIR, and the metrics in `database`."""
    return HttpResponse(generate_latest(registry(database)), content_type=CONTENT_TYPE_LATEST)


urlpatterns = [path("", metrics)]
