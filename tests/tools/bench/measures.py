"""Benchmarks of the delivery engine: delays, rates, CPU time, and ratios within a single run.

Each benchmark takes the receivers and a size (1 is full size), runs a worker as an operator would,
and returns its figures by name.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tests.servers.processes import Worker, wait_until
from tests.tools.bench import load
from tests.tools.bench.servers import cpu_seconds
from tests.tools.bench.sink import Sink
from webhooks.models import Attempt, Delivery

Figures = dict[str, float]

SLOTS = 512  # the default number of slots (threads) in a worker
LEAST = 0.025  # seconds; shorter times are mostly noise, so ratios treat them as this long


@contextmanager
def worker(sink: Sink, *, timeout: float = 10, retry_after: float = 1) -> Iterator[Worker]:
    """Run a worker, yield it after its first delivery, and delete all deliveries at the end."""
    delays = f"{retry_after:g},5,25"
    given = {"WEBHOOK_TIMEOUT": f"{timeout:g}", "WEBHOOK_RETRY_DELAYS": delays}
    with Worker(slots=SLOTS, **given) as running:
        load.commit(load.events(load.endpoints(sink, "/take", 1), 1))
        load.all_settled(60)
        sink.take()
        yield running
    Delivery.objects.all().delete()


def arrival(sink: Sink, size: float) -> Figures:
    """Measure the time from commit to arrival, at ten events a second."""
    with worker(sink):
        events = load.events(load.endpoints(sink, "/take", 10), round(300 * size))
        took = delays_of(sink, events, a_second=10)
    return {
        "arrival_p50_s": load.percentile(took, 0.5),
        "arrival_p99_s": load.percentile(took, 0.99),
    }


def arrival_idle(sink: Sink, size: float) -> Figures:
    """Measure the time from commit to arrival with an event every 11 seconds.

    That is long enough for the engine to slow its polling between events.
    """
    with worker(sink):
        events = load.events(load.endpoints(sink, "/take", 10), max(2, round(20 * size)))
        took = delays_of(sink, events, a_second=1 / (11 if size > 0.2 else 1))
    return {"arrival_idle_p50_s": load.percentile(took, 0.5), "arrival_idle_max_s": max(took)}


def idle(sink: Sink, size: float) -> Figures:
    """Measure the share of a core that an idle worker uses."""
    with worker(sink) as running:
        time.sleep(12 if size > 0.2 else 1)  # a worker polls more often after it has been busy
        before, began = cpu_seconds(running), time.monotonic()
        time.sleep(30 * size)
        used = cpu_seconds(running) - before
    return {"idle_cores": used / (time.monotonic() - began)}


def throughput(sink: Sink, size: float) -> Figures:
    """Let a worker drain a backlog for twenty receivers that respond at once, or after 50 ms."""
    count = round(3_000 * size)
    figures: Figures = {}
    with worker(sink) as running:
        for path in ("/take", "/late"):
            events = load.events(load.endpoints(sink, path, 20), count)
            cpu, began = cpu_seconds(running), load.commit(events)
            wait_until(lambda: sink.count() >= count, 300)
            seconds = max(one.moment for one in sink.take()) - began
            load.all_settled(60)
            name = f"throughput_{path[1:]}"
            figures |= {
                f"{name}_a_second": count / seconds,
                f"{name}_cpu_ms": 1000 * (cpu_seconds(running) - cpu) / count,
            }
    return figures


def fairness(sink: Sink, size: float) -> Figures:
    """Measure how much 3,000 deliveries to hanging receivers delay those to healthy receivers."""
    figures: Figures = {}
    # The hanging endpoints either have never been tried or have just recorded a success.
    for name, known in (("untried", False), ("known", True)):
        alone, beside = (load.percentile(took, 0.99) for took in hang(sink, size, known=known))
        figures |= {
            f"fairness_alone_{name}_p99_s": alone,
            f"fairness_beside_{name}_p99_s": beside,
            f"fairness_{name}_ratio": max(LEAST, beside) / max(LEAST, alone),
        }
    return figures


def hang(sink: Sink, size: float, *, known: bool) -> tuple[list[float], list[float]]:
    """Return the delays at healthy receivers, first without and then with hanging receivers.

    The deliveries to hanging receivers far outnumber the worker's slots. Each measurement lasts six
    times the timeout, because deliveries to healthy receivers are late only when many attempts
    begin or time out at the same time.
    """
    count, rate, hanging = round(1_200 * size), 20.0, min(3_000, round(30_000 * size))
    with worker(sink):
        healthy = load.endpoints(sink, "/take", 20)
        alone = delays_of(sink, load.events(healthy, count), a_second=rate)
        load.commit(load.events(load.endpoints(sink, "/hang", 50, known=known), hanging))
        return alone, delays_of(sink, load.events(healthy, count), a_second=rate)


def retries(sink: Sink, size: float) -> Figures:
    """Let a thousand deliveries fail once, and measure how late their second attempts begin.

    Asserts that each delivery has a second attempt.
    """
    count, rate = round(1_000 * size), 100.0
    after = count / rate + 2  # seconds; long enough for all first attempts to fail before a retry
    with worker(sink, retry_after=after):
        load.commit_evenly(load.events(load.endpoints(sink, "/again", 50), count), a_second=rate)
        load.all_settled(after + 60)
        ended = dict(Attempt.objects.filter(number=1).values_list("delivery", "finished_at"))
        begun = Attempt.objects.filter(number=2).values_list("delivery", "started_at")
        late = [(at - (ended[pk] or at)).total_seconds() - after for pk, at in begun]
        assert len(late) == count
    return {"retries_late_p99_s": load.percentile(late, 0.99), "retries_earliest_s": min(late)}


def delays_of(sink: Sink, events: list[Delivery], *, a_second: float) -> list[float]:
    """Commit events at a steady rate. Returns how long each event took to reach its receiver."""
    sink.take()
    committed = load.commit_evenly(events, a_second=a_second)
    ids = [each.pk for each in events]
    rows = Delivery.objects.filter(pk__in=ids)
    wait_until(lambda: rows.filter(state="SUCCESS").count() == len(ids), 120)
    return load.delays(committed, sink.take())


MEASURES: dict[str, Callable[[Sink, float], Figures]] = {
    each.__name__: each for each in (arrival, arrival_idle, idle, throughput, fairness, retries)
}
