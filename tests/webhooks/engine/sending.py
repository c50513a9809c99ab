"""Send a webhook request as the engine does, and check that the attempt ends in time."""

import time

from webhooks import signing
from webhooks.engine.post import Outcome, post

SECRET = "sixteen-letters!"
BODY = '{"event":"NEW_LEAD","data":{"chatbotName":"Grüße"}}'.encode()
AMPLE = 30.0  # seconds, for attempts that should not time out
# Extra seconds for a busy machine. If the timeout does not work, a slow receiver takes longer than
# this, so the check still fails.
SLACK = 10.0


def send(url: str, *, body: bytes = BODY, timeout: float = AMPLE) -> Outcome:
    """Send a body as the engine does, and assert that the attempt ends in time."""
    began = time.monotonic()
    outcome = post(url, body=body, headers=signing.headers(body, SECRET), timeout=timeout)
    assert time.monotonic() - began <= timeout + SLACK
    return outcome
