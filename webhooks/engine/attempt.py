"""Make one attempt: sign the stored bytes with the endpoint's current secret and send them.

Specification: Events, Request headers and Delivery rules. Open point: delivery-config.
"""

from functools import partial

from django.conf import settings

from config.database.connections import release_connection
from config.runtime.crash import crash_point
from webhooks import sealing, signing
from webhooks.engine import post
from webhooks.engine.work import Result, Work

DELETED = "webhook deleted"
SWITCHED_OFF = "webhook switched off"
NO_ADD_ON = "webhooks add-on lost"
ERASED = "content erased"
NO_SECRET = "secret cannot be decrypted"  # noqa: S105 - words for people


def send(work: Work) -> Result:
    """Send a delivery once. Holds no transaction and no connection while the receiver answers."""
    if not work.body:
        return Result(refusal=ERASED, final=True)
    target = work.target
    if target is None:
        return Result(refusal=DELETED, final=True)
    if not target.is_active or not target.has_add_on:
        return Result(refusal=NO_ADD_ON if target.is_active else SWITCHED_OFF, final=True)
    try:
        secret = sealing.unseal(target.sealed_secret)
    except sealing.SealBroken:
        return Result(refusal=NO_SECRET)
    headers = signing.headers(work.body, secret)
    release_connection()
    outcome = post.post(
        target.url,
        body=work.body,
        headers=headers,
        timeout=settings.WEBHOOK_TIMEOUT,
        hide=partial(sealing.hide, secret=secret),
    )
    crash_point("after-answer")
    return Result(outcome=outcome, signature=headers["X-SIGNATURE"])
