"""The OpenAPI document and the guides agree with the webhook settings and the signing code."""

import re

from config.settings import WEBHOOK_RETRY_DELAYS, WEBHOOK_TIMEOUT
from tests.house.source import ROOT

RECEIVERS = (ROOT / "docs" / "webhooks.md").read_text()
ENGINE = (ROOT / "docs" / "delivery.md").read_text()


def test_webhooks_md_and_delivery_md_state_the_default_timeout_and_delays() -> None:
    delays = [f"{delay:g}" for delay in WEBHOOK_RETRY_DELAYS]
    rows = re.findall(r"^\| \w+ \| (\d+) seconds? after the ", RECEIVERS, re.M)
    assert rows == delays
    assert f"within {WEBHOOK_TIMEOUT:g} seconds of the attempt's start" in RECEIVERS
    assert f"{', '.join(f'{delay} s' for delay in delays)} after the previous attempt" in ENGINE
