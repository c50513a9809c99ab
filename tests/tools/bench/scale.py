"""A benchmark of delivery to many endpoints.

It compares two loads in one run, so that a busy machine affects both.
"""

from collections.abc import Sequence

from tests.servers.processes import Worker, wait_until
from tests.tools.bench import load
from tests.tools.bench.measures import SLOTS
from tests.tools.bench.sink import Sink
from webhooks.models import Delivery, Endpoint

Figures = dict[str, float]
PATIENCE = 600.0  # seconds within which all deliveries of a run must arrive


def drained(sink: Sink, endpoints: Sequence[Endpoint], count: int) -> float:
    """Store deliveries for the endpoints in turn, and run a worker. Returns arrivals a second."""
    sink.take()
    load.commit(load.events(endpoints, count))
    with Worker(slots=SLOTS, WEBHOOK_TIMEOUT="10"):
        wait_until(lambda: sink.count() >= count, PATIENCE)
        moments = sorted(one.moment for one in sink.take())
        load.all_settled(PATIENCE)
    Delivery.objects.all().delete()
    # Ignore the first tenth of the arrivals, because the worker is still starting then.
    first = moments[len(moments) // 10]
    return (len(moments) * 9 / 10) / max(0.001, moments[-1] - first)


def many_endpoints(sink: Sink, size: float) -> Figures:
    """Compare how fast 5,000 deliveries reach 5,000 endpoints with how fast they reach 20."""
    count = round(5_000 * size)
    many = drained(sink, load.endpoints(sink, "/take", count), count)
    few = drained(sink, load.endpoints(sink, "/take", 20), count)
    return {"many_endpoints_a_second": many, "many_endpoints_ratio": many / few}


MEASURES = {"many_endpoints": many_endpoints}
