"""Make one attempt: sign the stored bytes with the endpoint's current secret and send them.

`post.Outcome` decides what counts as success, and `schedule` decides when a failure is retried.

Specification: Events, Request headers and Delivery rules. Open point: delivery-config.
"""

from functools import partial

from django.conf import settings

from config.database.connections import release_connection
from webhooks import masking, sealing, signing
from webhooks.engine import metrics, post
from webhooks.engine.work import Result, Work
from webhooks.models.reason import Refusal


def send(work: Work) -> Result:
    """Send a delivery, or refuse it. Holds no database connection during the request."""
    if not work.body:
        return Result(refusal=Refusal.CONTENT_ERASED, final=True)
    target = work.target
    if target is None:
        return Result(refusal=Refusal.WEBHOOK_DELETED, final=True)
    if not target.is_active:
        return Result(refusal=Refusal.SWITCHED_OFF, final=True)
    if not target.has_add_on:
        return Result(refusal=Refusal.ADD_ON_LOST, final=True)
    try:
        secret = sealing.unseal(target.sealed_secret)
    except sealing.SealBroken:
        return Result(refusal=Refusal.SECRET_UNREADABLE)
    headers = signing.headers(work.body, secret)
    release_connection()
    metrics.request_leaves(work)
    outcome = post.post(
        target.url,
        body=work.body,
        headers=headers,
        timeout=settings.WEBHOOK_TIMEOUT,
        hide=partial(masking.hide, secret=secret),
    )
    return Result(outcome=outcome, signature=headers[signing.SIGNATURE])
