"""Send webhook requests as the engine does, and check that each attempt ends in time."""

import time

from webhooks import signing
from webhooks.engine.post import Outcome, post

SECRET = "sixteen-letters!"
BODY = '{"event":"NEW_LEAD","data":{"chatbotName":"Grüße"}}'.encode()
AMPLE = 30.0  # timeout in seconds for attempts that should not time out
# Extra seconds to allow for a busy machine. The check still detects a broken timeout,
# because a slow receiver takes longer than this.
SLACK = 10.0


def send(url: str, *, body: bytes = BODY, timeout: float = AMPLE) -> Outcome:
    """Send a body as the engine does, and assert that the attempt ends in time."""
    began = time.monotonic()
    outcome = post(url, body=body, headers=signing.headers(body, SECRET), timeout=timeout)
    assert time.monotonic() - began <= timeout + SLACK
    return outcome
