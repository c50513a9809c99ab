"""An outage of the cache ends when the cache answers again, even after a shortage of threads."""

from config.api.cache_outage import Outage
from tests.servers.processes import wait_until
from tests.shortages import without_threads


def test_an_outage_ends_even_if_it_begins_while_no_thread_can_be_started() -> None:
    is_down = True

    def check() -> None:
        if is_down:
            raise ConnectionError("refused")

    outage = Outage(check, (ConnectionError,))
    with without_threads():
        assert not outage.cache_answers()
    assert not outage.cache_answers()
    assert outage.under_way
    is_down = False
    wait_until(outage.cache_answers)
