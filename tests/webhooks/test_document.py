"""The OpenAPI document and the guides agree with the webhook settings and the signing code."""

import re
from typing import Any

import pytest

from config.settings import WEBHOOK_RETRY_DELAYS, WEBHOOK_TIMEOUT
from tests.house.source import ROOT
from webhooks import document

RECEIVERS = (ROOT / "docs" / "webhooks.md").read_text()
ENGINE = (ROOT / "docs" / "delivery.md").read_text()


@pytest.mark.parametrize(
    ("timeout", "delays", "words"),
    [
        (10.0, (1.0, 5.0, 25.0), "10 seconds, the delivery is retried after 1, 5 and 25 seconds."),
        (2.5, (0.5, 60.0), "2.5 seconds, the delivery is retried after 0.5 and 60 seconds."),
        (3.0, (7.0,), "3 seconds, the delivery is retried after 7 seconds."),
        (3.0, (), "3 seconds, the delivery fails."),
    ],
)
def test_the_timeout_and_the_delays_are_those_in_force(
    settings: Any, timeout: float, delays: tuple[float, ...], words: str
) -> None:
    settings.WEBHOOK_TIMEOUT, settings.WEBHOOK_RETRY_DELAYS = timeout, delays
    assert document.retries() == f"Accepted. With any other status, or none within {words}"


def test_webhooks_md_and_delivery_md_state_the_default_timeout_and_delays() -> None:
    delays = [f"{delay:g}" for delay in WEBHOOK_RETRY_DELAYS]
    rows = re.findall(r"^\| \w+ \| (\d+) seconds? after the ", RECEIVERS, re.M)
    assert rows == delays
    assert f"within {WEBHOOK_TIMEOUT:g} seconds of the attempt's start" in RECEIVERS
    assert f"the service waits at most {WEBHOOK_TIMEOUT:g} seconds" in RECEIVERS
    assert f"{', '.join(f'{delay} s' for delay in delays)} after the previous attempt" in ENGINE
