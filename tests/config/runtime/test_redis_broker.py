"""A connection to a Redis broker is made only if the broker accepts writes."""

import pytest
from kombu.exceptions import OperationalError

from config.runtime.broker import QuickConnection
from config.runtime.redis_broker import WritableTransport
from tests.servers.broker import REFUSALS, Broker, Fault


@pytest.mark.parametrize("fault", [Broker.killed, *REFUSALS])
def test_failed_attempts_to_connect_do_not_use_up_the_channels(
    fault: Fault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(WritableTransport, "channel_max", 2)
    with Broker() as broker, QuickConnection(broker.url) as connection:
        with fault(broker), pytest.raises(OperationalError):
            connection.ensure_connection(max_retries=3)
        assert connection.ensure_connection(max_retries=1).connected
