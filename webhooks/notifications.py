"""Email account owners when a webhook keeps failing, and when it works again.

A periodic task finds failing and recovered endpoints by their health columns. The code that records
the result of an attempt therefore does not depend on email.
"""

from datetime import datetime
from urllib.parse import urlsplit

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone

from accounts.notifications import tell_owner
from config.database.locks import left_if_locked
from webhooks.models import Delivery, Endpoint
from webhooks.models.delivery import State


def tell_owners() -> None:
    """Email the owners of endpoints that keep failing, or that work again after a failure email.

    An endpoint keeps failing if two failures are at least WEBHOOK_FAILURE_MAIL_AFTER apart, with no
    success in between. Endpoints that are switched off, or whose accounts lack the add-on, are
    skipped. Each email is stored in the transaction that sets or clears `owner_told_at`, so it is
    stored only once, even with several workers.
    """
    after = settings.WEBHOOK_FAILURE_MAIL_AFTER
    if after is None:
        return
    fails_long = Q(owner_told_at=None, last_failure_at__gte=F("failing_since") + after)
    works_again = Q(owner_told_at__isnull=False, failing_since=None)
    in_use = Endpoint.objects.filter(is_active=True, chatbot__account__webhooks_enabled=True)
    found = in_use.filter(fails_long | works_again)
    for endpoint in found.select_related("chatbot__account__owner"):
        told_at = timezone.now() if endpoint.owner_told_at is None else None
        as_read = Endpoint.objects.filter(
            pk=endpoint.pk,
            is_active=True,
            failing_since=endpoint.failing_since,
            owner_told_at=endpoint.owner_told_at,
        )
        what = f"the email about endpoint {endpoint.pk}"
        with left_if_locked(what), transaction.atomic():
            if not as_read.update(owner_told_at=told_at):
                continue  # the endpoint has changed since, or another worker has stored the email
            if told_at:
                tell_that_it_fails(endpoint)
            else:
                tell_that_it_works(endpoint)


def tell_that_it_fails(endpoint: Endpoint) -> None:
    """Email the owner, in the caller's transaction, that an endpoint keeps failing."""
    since = in_utc(endpoint.failing_since)
    tell_owner(
        endpoint.chatbot.account,
        subject=f"{endpoint.chatbot.name}: the webhook has been failing since {since}",
        body=(
            f"{endpoint.chatbot.name}'s webhook to {host(endpoint)} is not working.\n\n"
            f"Failing since: {since}\n"
            f"Failures in a row: {endpoint.failures_in_a_row}\n"
            f"Last error: {last_error(endpoint)}\n"
            f"Last success: {in_utc(endpoint.last_success_at)}\n\n"
            f"Webhook: {page_url(endpoint)}\n\n"
            "You will get another email when it works again.\n"
        ),
    )


def tell_that_it_works(endpoint: Endpoint) -> None:
    """Email the owner, in the caller's transaction, that an endpoint works again."""
    tell_owner(
        endpoint.chatbot.account,
        subject=f"{endpoint.chatbot.name}: the webhook works again",
        body=(
            f"{endpoint.chatbot.name}'s webhook to {host(endpoint)} is working again. "
            f"You were notified of the failure on {in_utc(endpoint.owner_told_at)}.\n\n"
            f"Last success: {in_utc(endpoint.last_success_at)}\n\n"
            "Deliveries that became FAILED in the meantime stay FAILED until they are retried.\n\n"
            f"Webhook: {page_url(endpoint)}\n"
        ),
    )


def last_error(endpoint: Endpoint) -> str:
    """Return the error or status code of the newest delivery whose last attempt failed."""
    failed = Delivery.objects.filter(
        chatbot=endpoint.chatbot_id, state__in=[State.RETRYING, State.FAILED]
    )
    newest = failed.order_by("-created_at", "-id").defer("body").first()
    if newest is None:
        return "not known"
    return newest.last_error or (
        f"response {newest.last_code}" if newest.last_code else "not known"
    )


def host(endpoint: Endpoint) -> str:
    """Return only the host of the URL, because its path and query may be confidential."""
    return urlsplit(endpoint.url).hostname or ""


def page_url(endpoint: Endpoint) -> str:
    """Return the URL of the endpoint's page in the admin."""
    return f"{settings.PUBLIC_URL}/admin/webhooks/endpoint/of/{endpoint.chatbot_id}/"


def in_utc(value: datetime | None) -> str:
    """Format a time in UTC to the minute, or return "never" if there is none."""
    return f"{value:%Y-%m-%d %H:%M} UTC" if value else "never"
