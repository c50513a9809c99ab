"""Benchmarks of delivery: many endpoints, several workers, a long queue, and one busy endpoint.

Most benchmarks compare two loads in one run, so that a busy machine affects both.
"""

import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack, nullcontext

from django.db import connection

from config.database.claims import NO_CLAIM
from tests.factories.webhooks import EndpointFactory
from tests.servers.processes import Worker, wait_until
from tests.tools.bench import load, replies, rows
from tests.tools.bench.measures import SLOTS, cpu_seconds, delays_of, worker
from tests.tools.bench.model import slow_model
from tests.tools.bench.servers import service
from tests.tools.bench.sink import Sink
from webhooks.engine import claims
from webhooks.models import Delivery, Endpoint

Figures = dict[str, float]
PATIENCE = 600.0  # seconds within which all deliveries of a run must arrive
HELD = """SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND classid = %s
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) LIMIT 1"""


def drained(sink: Sink, endpoints: Sequence[Endpoint], count: int, *, workers: int = 1) -> float:
    """Store deliveries for the endpoints in turn, then run workers. Returns arrivals per second."""
    sink.take()
    load.commit(load.events(endpoints, count))
    with ExitStack() as stack:
        for _ in range(workers):
            stack.enter_context(Worker(slots=SLOTS, WEBHOOK_TIMEOUT="10"))
        wait_until(lambda: sink.count() >= count, PATIENCE)
        moments = sorted(one.moment for one in sink.take())
        load.all_settled(PATIENCE)
    Delivery.objects.all().delete()
    # Ignore the first tenth of the arrivals, because the workers are still starting then.
    first = moments[len(moments) // 10]
    return (len(moments) * 9 / 10) / max(0.001, moments[-1] - first)


def many_endpoints(sink: Sink, size: float) -> Figures:
    """Compare how fast 5,000 deliveries reach 5,000 endpoints with how fast they reach 20."""
    count = round(5_000 * size)
    many, few = many_and_few(sink, "/take", count, count)
    return {"many_endpoints_a_second": many, "many_endpoints_ratio": many / few}


def slow_endpoints(sink: Sink, size: float) -> Figures:
    """Compare how fast 3,000 deliveries reach 1,000 endpoints with how fast they reach 20.

    The endpoints respond after 0.5 s.
    """
    many, few = many_and_few(sink, "/slow", round(1_000 * size), round(3_000 * size))
    return {"slow_endpoints_a_second": many, "slow_endpoints_ratio": many / few}


def slower_endpoints(sink: Sink, size: float) -> Figures:
    """Repeat `slow_endpoints` with responses that take 2 s, so that the slots limit the rates."""
    many, few = many_and_few(sink, "/slower", round(1_000 * size), round(3_000 * size))
    return {"slower_endpoints_a_second": many, "slower_endpoints_ratio": many / few}


def many_and_few(sink: Sink, path: str, endpoints: int, count: int) -> tuple[float, float]:
    """Make `count` deliveries to many endpoints, then to 20. Returns both arrival rates."""
    many = drained(sink, load.endpoints(sink, path, endpoints), count)
    return many, drained(sink, load.endpoints(sink, path, 20), count)


class Locked(threading.Thread):
    """A context manager that checks every 10 ms whether any worker has locked an endpoint."""

    def __init__(self) -> None:
        super().__init__()
        self.over = threading.Event()
        self.looks: list[bool] = []

    def run(self) -> None:
        with connection.cursor() as cursor:
            while not self.over.wait(0.01):
                cursor.execute(HELD, [claims.ENDPOINTS])
                self.looks.append(cursor.fetchone() is not None)
        connection.close()

    @property
    def share(self) -> float:
        """The share of checks that found a lock, counted from the first such check to the last."""
        found = [number for number, one in enumerate(self.looks) if one]
        return len(found) / (found[-1] - found[0] + 1) if found else 0.0

    def __enter__(self) -> "Locked":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.join()


def workers(sink: Sink, size: float) -> Figures:
    """Let one worker drain a backlog for receivers that respond after 0.5 s.

    On PostgreSQL, repeat this with two workers and with four.
    """
    figures: Figures = {}
    for number in (1, 2, 4) if connection.vendor == "postgresql" else (1,):
        endpoints = load.endpoints(sink, "/slow", round(400 * size))
        with Locked() if connection.vendor == "postgresql" else nullcontext() as locked:
            rate = drained(sink, endpoints, round(4_000 * size), workers=number)
        figures[f"workers_{number}_a_second"] = rate
        if locked:
            figures[f"workers_{number}_locked"] = locked.share
    return figures


def one_endpoint(sink: Sink, size: float) -> Figures:
    """Send 250 events a second to one endpoint, and measure how late the last ones arrive.

    The endpoint responds after 0.2 s.
    """
    count = round(250 * 60 * size)
    with worker(sink) as running:
        events = load.events(load.endpoints(sink, "/fifth", 1), count)
        cpu = cpu_seconds(running)
        committed: dict[str, float] = {}
        began = time.monotonic()
        # Store events in batches, because committing each one would cost more than delivering it.
        for at in range(0, count, 25):
            time.sleep(max(0.0, began + at / 250 - time.monotonic()))
            moment = load.commit(events[at : at + 25])
            committed |= {str(one.message_id): moment for one in events[at : at + 25]}
        behind = count - sink.count()
        wait_until(lambda: sink.count() >= count, PATIENCE)
        took = load.delays(committed, sink.take())
        load.all_settled(PATIENCE)
        cpu = cpu_seconds(running) - cpu
    return {
        "one_endpoint_behind": behind,
        "one_endpoint_last_p50_s": load.percentile(took[-len(took) // 4 :], 0.5),
        "one_endpoint_cpu_ms": 1000 * cpu / count,
    }


def arrival_beside_sends(sink: Sink, size: float) -> Figures:
    """Measure the time from commit to arrival at ten events a second, with and without other load.

    The load comes from 200 visitors who wait five seconds for each reply. That makes 40 messages
    and 80 events a second. Asserts that no visitor gets a wrong response.
    """
    count, visitors = round(300 * size), round(200 * min(1.0, 4 * size))
    chats = rows.add_accounts(4, threads=visitors // 4)
    for number, each in enumerate(chats):
        EndpointFactory(chatbot=each.chatbot, url=sink.url("/take", number))
    with ExitStack() as stack:
        model = stack.enter_context(slow_model(replies.MODEL_SECONDS))
        threads = str(2 * visitors)
        web = stack.enter_context(service(LLM_BASE_URL=model, LLM_MODEL="m", WEB_THREADS=threads))
        stack.enter_context(worker(sink))
        events = load.events(load.endpoints(sink, "/take", 10), 2 * count)
        alone = delays_of(sink, events[:count], a_second=10)
        with replies.Senders(web, replies.sending(chats)) as senders:
            beside = delays_of(sink, events[count:], a_second=10)
        assert not senders.heard.wrong
    return {
        "arrival_alone_p99_s": load.percentile(alone, 0.99),
        "arrival_beside_sends_p99_s": load.percentile(beside, 0.99),
        "sends_a_second": senders.heard.a_second,
    }


def claim_time(sink: Sink, size: float) -> Figures:
    """Measure how long a claim takes when 100 or 10,000 endpoints have due deliveries."""
    figures: Figures = {}
    for count in (100, round(10_000 * size)):
        load.commit(load.events(load.endpoints(sink, "/take", count), 2 * count))
        figures[f"claim_{count}_ms"] = load.percentile([timed_claim() for _ in range(15)], 0.5)
        Delivery.objects.all().delete()
    few, many = figures.values()
    return figures | {"claim_ratio": many / few}


def timed_claim() -> float:
    """Claim deliveries for 256 slots, then release them. Returns the milliseconds the claim took.

    Asserts that deliveries were due.
    """
    began = time.monotonic()
    claimed = claims.claim("1", slots=256)
    took = 1000 * (time.monotonic() - began)
    assert claimed
    ids = [one.delivery_id for one in claimed]
    Delivery.objects.filter(pk__in=ids).update(**NO_CLAIM)
    return took


def stale_statistics(sink: Sink, size: float) -> Figures:
    """Measure claim rates after a burst of deliveries, with stale and with fresh statistics."""
    if connection.vendor != "postgresql":
        return {}
    figures: Figures = {}
    endpoints = load.endpoints(sink, "/take", 20)
    load.commit(load.events(endpoints, 2_000))
    Delivery.objects.update(state="SUCCESS", due_at=None)
    for burst in (3_000, 20_000, 80_000):
        rates = []
        for fresh in (False, True):
            analyze()
            load.commit(load.events(endpoints, round(burst * size)))
            if fresh:
                analyze()
            rates.append(claim_all())
        figures[f"stale_{burst}_ratio"] = rates[0] / rates[1]
    return figures


def analyze() -> None:
    """Update the statistics that PostgreSQL keeps for the deliveries table."""
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE webhooks_delivery")


def claim_all() -> float:
    """Claim about 3,000 waiting deliveries and mark them as sent. Returns the rate per second.

    The remaining deliveries are then marked as sent without being claimed.
    """
    began, done = time.monotonic(), 0
    while done < 3_000 and (claimed := claims.claim("1", slots=256)):
        ids = [one.delivery_id for one in claimed]
        Delivery.objects.filter(pk__in=ids).update(**NO_CLAIM, due_at=None, state="SUCCESS")
        done += len(ids)
    rate = done / (time.monotonic() - began)
    Delivery.objects.filter(due_at__isnull=False).update(due_at=None, state="SUCCESS")
    return rate


MEASURES = {
    each.__name__: each
    for each in (
        many_endpoints,
        slow_endpoints,
        slower_endpoints,
        workers,
        one_endpoint,
        arrival_beside_sends,
        claim_time,
        stale_statistics,
    )
}
